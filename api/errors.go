package api

import (
	"fmt"
	"net/http"
	"time"
)

// A Code names a refusal or failure for programs. It never changes its meaning.
type Code string

// The codes, one for each thing that a client may do differently.
const (
	CodeRateLimitExceeded    Code = "RATE_LIMIT_EXCEEDED"
	CodeAuthFailed           Code = "AUTH_FAILED"
	CodeForbidden            Code = "FORBIDDEN"
	CodeNotFound             Code = "NOT_FOUND"
	CodeMethodNotAllowed     Code = "METHOD_NOT_ALLOWED"
	CodeRequestTimeout       Code = "REQUEST_TIMEOUT"
	CodeConflict             Code = "CONFLICT"
	CodePayloadTooLarge      Code = "PAYLOAD_TOO_LARGE"
	CodeUnsupportedMediaType Code = "UNSUPPORTED_MEDIA_TYPE"
	CodeValidationFailed     Code = "VALIDATION_FAILED"
	CodeIdempotencyKeyReused Code = "IDEMPOTENCY_KEY_REUSED"
	CodeInvalidJSON          Code = "INVALID_JSON"
	CodeBadRequest           Code = "BAD_REQUEST"
	CodeLimiterUnavailable   Code = "LIMITER_UNAVAILABLE"
	CodeUnavailable          Code = "UNAVAILABLE"
	CodeUpstreamFailed       Code = "UPSTREAM_FAILED"
	CodeInternal             Code = "INTERNAL"
)

// An ErrorKind is one row of the table of codes.
type ErrorKind struct {
	Code Code
	// Status is the HTTP status that the code is always sent with.
	Status int
	// Message is the fixed sentence of the code. That of RATE_LIMIT_EXCEEDED is followed by the allowance.
	Message string
}

// ErrorKinds returns the table of codes, by status.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{
		{CodeBadRequest, http.StatusBadRequest, "The request is malformed"},
		{CodeInvalidJSON, http.StatusBadRequest, "The request body is not the JSON that this route takes"},
		{CodeAuthFailed, http.StatusUnauthorized, "Authentication failed"},
		{CodeForbidden, http.StatusForbidden, "This is not allowed"},
		{CodeNotFound, http.StatusNotFound, "There is nothing here"},
		{CodeMethodNotAllowed, http.StatusMethodNotAllowed, "This path does not have that method"},
		{CodeRequestTimeout, http.StatusRequestTimeout, "The request body took too long to arrive"},
		{CodeConflict, http.StatusConflict, "The request conflicts with the present state"},
		{CodePayloadTooLarge, http.StatusRequestEntityTooLarge, "The request body is too large"},
		{CodeUnsupportedMediaType, http.StatusUnsupportedMediaType, "This route does not take that content type"},
		{CodeValidationFailed, http.StatusUnprocessableEntity, "Some fields break a rule"},
		{CodeIdempotencyKeyReused, http.StatusUnprocessableEntity, "This idempotency key belongs to another request"},
		{CodeRateLimitExceeded, http.StatusTooManyRequests, "Rate limit exceeded"},
		{CodeInternal, http.StatusInternalServerError, "Something went wrong on the server"},
		{CodeUpstreamFailed, http.StatusBadGateway, "A service that this route needs gave no usable answer"},
		{CodeUnavailable, http.StatusServiceUnavailable, "This is not available for the moment"},
		{CodeLimiterUnavailable, http.StatusServiceUnavailable, "This cannot be counted for the moment, so it is refused"},
	}
}

// Kind returns the row of a code; an unknown code is INTERNAL.
func Kind(code Code) ErrorKind {
	internal := ErrorKind{}
	for _, kind := range ErrorKinds() {
		if kind.Code == code {
			return kind
		}
		if kind.Code == CodeInternal {
			internal = kind
		}
	}
	return internal
}

// UnavailableRetryAfter is what every 503 tells its caller to wait.
const UnavailableRetryAfter = 5 * time.Second

// TypeQuotaExceeded is the problem type of a 429; the type of all others is TypeBlank.
const (
	TypeQuotaExceeded = "https://iana.org/assignments/http-problem-types#quota-exceeded"
	TypeBlank         = "about:blank"
)

// ContentTypeProblem is the media type of every error body.
const ContentTypeProblem = "application/problem+json"

// A Problem is the one body of every refusal and failure: RFC 9457, with error, code and message as its short form.
type Problem struct {
	Type      string `json:"type"`
	Title     string `json:"title"`
	Status    int    `json:"status"`
	Detail    string `json:"detail"`
	Instance  string `json:"instance"`
	RequestID string `json:"requestId"`
	// Error repeats Title, the status text.
	Error   string `json:"error"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	// Fields lists every field at fault, for VALIDATION_FAILED and INVALID_JSON.
	Fields []FieldError `json:"fields,omitempty"`
	// ViolatedPolicies names the budgets that refused, for a 429.
	ViolatedPolicies []string `json:"violated-policies,omitempty"`
	// RetryAfter is the milliseconds until the request would be admitted: for a 429 that any wait helps, a 503, and a 409 whose
	// idempotency key is at work.
	RetryAfter int64 `json:"retryAfter,omitempty"`
	// RetryAfterSeconds is RetryAfter in whole seconds, rounded up, at least 1: what the Retry-After header says.
	RetryAfterSeconds int64 `json:"retryAfterSeconds,omitempty"`
}

// A FieldError says what is wrong with one field of a request; Field is a path such as "tags[2]".
type FieldError struct {
	Field   string `json:"field"`
	Message string `json:"message"`
}

// NewProblem returns the problem of a code with its status, title and message filled in. An empty detail repeats the message.
func NewProblem(code Code, detail string) Problem {
	kind := Kind(code)
	title := http.StatusText(kind.Status)
	if detail == "" {
		detail = kind.Message + "."
	}
	return Problem{
		Type: TypeBlank, Title: title, Status: kind.Status, Detail: detail,
		Error: title, Code: kind.Code, Message: kind.Message,
	}
}

// WithRetry returns the problem with both forms of its wait set; a wait below a second is said as one second.
func (p Problem) WithRetry(wait time.Duration) Problem {
	p.RetryAfter = max(CeilMilliseconds(wait), 1)
	p.RetryAfterSeconds = max(CeilSeconds(wait), 1)
	return p
}

// NewRateLimitProblem returns the 429 for the budgets that refused. The allowance words the first of them;
// a wait of 0 or less means that no wait helps, and then none is said.
func NewRateLimitProblem(allowance string, wait time.Duration, violated ...string) Problem {
	p := NewProblem(CodeRateLimitExceeded, "")
	p.Type = TypeQuotaExceeded
	p.Message += ": " + allowance
	p.Detail = p.Message + "."
	p.ViolatedPolicies = violated
	if wait <= 0 {
		return p
	}
	p = p.WithRetry(wait)
	p.Detail += fmt.Sprintf(" Try again in %s.", countOf(p.RetryAfterSeconds, "second"))
	return p
}

func countOf(n int64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
