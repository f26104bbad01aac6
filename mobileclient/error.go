package mobileclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/gatehouse/api"
)

// ErrRateLimited is what errors.Is finds in every refusal for spent budgets, by the server and by the mirror alike.
var ErrRateLimited = errors.New("rate limit exceeded")

// An Error is a refusal or failure that the server answered with, or that the client foresaw and did not send. Faults of
// the network, of the token source and of contexts are not Errors.
type Error struct {
	// Status is the HTTP status; for a local refusal, the one that the server would have sent.
	Status int `json:"status"`
	// Code names the error for programs. It is empty where the answer came from something else than the API and its status says too little.
	Code api.Code `json:"code"`
	// Message is one sentence for people.
	Message string `json:"message"`
	// RequestID finds the request in the server's log; empty where nothing was sent.
	RequestID string `json:"requestId,omitempty"`
	// Fields lists the fields at fault.
	Fields []api.FieldError `json:"fields,omitempty"`
	// Local is true where the client refused and nothing was sent.
	Local   bool    `json:"local"`
	Details Details `json:"details"`
}

// Details say more of an Error. The waits are 0 where none is known to help.
type Details struct {
	// RetryAfter is the wait in milliseconds after which the call would be let pass, if nothing else is spent meanwhile. After
	// a refusal by the server it is what that said; the client itself waits up to 2 s longer before the first call tries,
	// so that many clients do not come back at once.
	RetryAfter int64 `json:"retryAfter,omitempty"`
	// RetryAfterSeconds is RetryAfter in whole seconds, rounded up, at least 1.
	RetryAfterSeconds int64 `json:"retryAfterSeconds,omitempty"`
	// Endpoint is the path that was called, with ids as ":id".
	Endpoint string `json:"endpoint"`
	// Budgets names those that refused.
	Budgets []string `json:"budgets,omitempty"`
}

// Error gives code, status and message, such as "NOT_FOUND (404): There is nothing here".
func (e *Error) Error() string {
	if e.Code == "" {
		return fmt.Sprintf("status %d: %s", e.Status, e.Message)
	}
	return fmt.Sprintf("%s (%d): %s", e.Code, e.Status, e.Message)
}

// Is makes errors.Is(err, ErrRateLimited) hold for every RATE_LIMIT_EXCEEDED.
func (e *Error) Is(target error) bool {
	return target == ErrRateLimited && e.Code == api.CodeRateLimitExceeded
}

// Wait is Details.RetryAfter as a duration.
func (e *Error) Wait() time.Duration { return time.Duration(e.Details.RetryAfter) * time.Millisecond }

// refusedLocally is the 429 of the mirror.
func refusedLocally(endpoint string, wait time.Duration, budgets []string) *Error {
	e := localError(api.CodeRateLimitExceeded, endpoint)
	e.Details.Budgets = budgets
	if wait <= 0 {
		e.Message = "Rate limit exceeded. No wait helps: the limit of " + strings.Join(budgets, ", ") + " is 0."
		return e
	}
	e.Details.setWait(wait)
	e.Message = fmt.Sprintf("Rate limit exceeded. Please try again in %d seconds.", e.Details.RetryAfterSeconds)
	return e
}

// notAnID is the 404 that the server gives a path whose id is none; asking it would only spend budgets.
func notAnID(endpoint, id string) *Error {
	e := localError(api.CodeNotFound, endpoint)
	e.Message = fmt.Sprintf("There is nothing here: %q is not an id.", id)
	return e
}

func localError(code api.Code, endpoint string) *Error {
	kind := api.Kind(code)
	return &Error{Status: kind.Status, Code: code, Message: kind.Message, Local: true, Details: Details{Endpoint: endpoint}}
}

// setWait says a wait in both forms. Milliseconds are rounded up, so that a call after them is not a moment early.
func (d *Details) setWait(wait time.Duration) {
	d.RetryAfter = max(int64((wait+time.Millisecond-1)/time.Millisecond), 1)
	d.RetryAfterSeconds = max(api.CeilSeconds(wait), 1)
}

// problemError reads the error of an answer that is not a success. A body that is not the API's own, as proxies and
// captive portals send it, is quoted from its beginning.
func problemError(resp *http.Response, body []byte, endpoint string) *Error {
	e := &Error{Status: resp.StatusCode, RequestID: resp.Header.Get(api.HeaderRequestID), Details: Details{Endpoint: endpoint}}
	var p api.Problem
	if isJSON(resp) && json.Unmarshal(body, &p) == nil && p.Code != "" {
		e.fill(p)
	} else {
		e.foreign(resp, body)
	}
	if wait, ok := retryAfter(resp.Header); ok && e.Details.RetryAfter == 0 {
		e.Details.setWait(wait)
	}
	return e
}

func (e *Error) fill(p api.Problem) {
	e.Code, e.Message, e.Fields = p.Code, p.Message, p.Fields
	e.Details.Budgets = p.ViolatedPolicies
	if e.RequestID == "" {
		e.RequestID = p.RequestID
	}
	if p.RetryAfter > 0 && p.RetryAfter <= maxRetryAfter.Milliseconds() {
		e.Details.setWait(time.Duration(p.RetryAfter) * time.Millisecond)
	}
}

func (e *Error) foreign(resp *http.Response, body []byte) {
	e.Code = codeOfStatus(resp.StatusCode)
	if location := resp.Header.Get("Location"); resp.StatusCode/100 == 3 && location != "" {
		e.Message = fmt.Sprintf("the server redirects to %s: make that the base URL", location)
		return
	}
	e.Message = describeForeign(resp, body)
}

// codeOfStatus gives the code of an answer without one: the first that is always sent with that status, if any.
func codeOfStatus(status int) api.Code {
	for _, kind := range api.ErrorKinds() {
		if kind.Status == status {
			return kind.Code
		}
	}
	return ""
}

// unreadable is the error of a success whose body is not the JSON it should be.
func unreadable(resp *http.Response, body []byte, endpoint string) *Error {
	return &Error{
		Status: resp.StatusCode, RequestID: resp.Header.Get(api.HeaderRequestID),
		Message: describeForeign(resp, body), Details: Details{Endpoint: endpoint},
	}
}

// quoted is how many bytes of an unexpected body an error shows: a line or two, enough to recognise a proxy's page.
const quoted = 120

func describeForeign(resp *http.Response, body []byte) string {
	kind := resp.Header.Get("Content-Type")
	if kind == "" {
		kind = "no content type"
	}
	if len(body) == 0 {
		return fmt.Sprintf("the answer is not the API's: %s, empty (%s)", http.StatusText(resp.StatusCode), kind)
	}
	return fmt.Sprintf("the answer is not the API's: %s, beginning with %q", kind, beginning(body))
}

// beginning cuts a body to its first bytes, at a character's boundary.
func beginning(body []byte) string {
	if len(body) <= quoted {
		return string(body)
	}
	cut := quoted
	for cut > quoted-utf8.UTFMax && !utf8.RuneStart(body[cut]) {
		cut--
	}
	return string(body[:cut]) + "…"
}

func isJSON(resp *http.Response) bool {
	kind, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/json" || strings.HasSuffix(kind, "+json")
}
