package httpapi

import (
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/store"
)

// A failure is an error that says how it is answered. Anything else that a handler returns is looked up in failureOf.
type failure struct {
	code   api.Code
	detail string
	fields []api.FieldError
	// cause goes to the log and never into the body.
	cause error
	// wait is when the caller may come back; 0 means that no wait helps, or that the code says it.
	wait time.Duration
	// allowance and violated describe a 429.
	allowance string
	violated  []string
}

// Error gives what the log says.
func (f failure) Error() string {
	if f.cause != nil {
		return string(f.code) + ": " + f.cause.Error()
	}
	return string(f.code)
}

// Unwrap gives the cause.
func (f failure) Unwrap() error { return f.cause }

func notFound() error { return failure{code: api.CodeNotFound} }

func invalid(fields []api.FieldError) error {
	if len(fields) == 0 {
		return nil
	}
	return failure{code: api.CodeValidationFailed, detail: "Some fields break a rule; fields lists them all.", fields: fields}
}

func badRequest(detail string) error { return failure{code: api.CodeBadRequest, detail: detail} }

// failureOf is the one table from errors of other packages to codes.
func failureOf(err error) failure {
	if f, ok := errors.AsType[failure](err); ok {
		return f
	}
	switch {
	case errors.Is(err, store.ErrKeyReused):
		return keyReused(err)
	case errors.Is(err, store.ErrKeyAtWork):
		return keyAtWork(err)
	}
	var tooLarge *http.MaxBytesError
	table := []struct {
		is   bool
		code api.Code
	}{
		{errors.As(err, &tooLarge), api.CodePayloadTooLarge},
		{errors.Is(err, os.ErrDeadlineExceeded), api.CodeRequestTimeout},
		{errors.Is(err, store.ErrNotFound), api.CodeNotFound},
		{errors.Is(err, store.ErrConflict), api.CodeConflict},
		{errors.Is(err, store.ErrInvalidText), api.CodeValidationFailed},
		{errors.Is(err, store.ErrUnavailable), api.CodeUnavailable},
		{errors.Is(err, auth.ErrUnavailable), api.CodeUnavailable},
		{errors.Is(err, auth.ErrInvalid), api.CodeAuthFailed},
		{errors.Is(err, auth.ErrTwoCredentials), api.CodeBadRequest},
	}
	for _, row := range table {
		if row.is {
			return failure{code: row.code, cause: err}
		}
	}
	return failure{code: api.CodeInternal, cause: err}
}

// fail is the one error writer: every refusal and failure of the server is its work, and but for a browser on its way through
// a sign-in it is the one envelope.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	x := exchangeOf(r)
	f := failureOf(err)
	x.cause = err
	// A late body cancels the request too, but its caller waits. One who has gone may have gone half, and still read.
	x.gone = hungUp(r) && f.code != api.CodeRequestTimeout
	problem := f.problem()
	x.failed = problem.Status >= http.StatusInternalServerError
	if page := toldByPage(r, f.code); page != "" {
		w.Header().Set("Cache-Control", "no-store")
		http.Redirect(w, r, page, http.StatusSeeOther)
		return
	}
	problem.Instance, problem.RequestID = r.URL.Path, x.id
	writeProblem(w, problem)
}

func (f failure) problem() api.Problem {
	if f.code == api.CodeRateLimitExceeded {
		return api.NewRateLimitProblem(f.allowance, f.wait, f.violated...)
	}
	problem := api.NewProblem(f.code, f.detail)
	problem.Fields = f.fields
	switch {
	case problem.Status == http.StatusServiceUnavailable:
		return problem.WithRetry(api.UnavailableRetryAfter)
	case f.wait > 0:
		return problem.WithRetry(f.wait)
	}
	return problem
}

func writeProblem(w http.ResponseWriter, p api.Problem) {
	h := w.Header()
	h.Set("Content-Type", api.ContentTypeProblem)
	h.Set("Cache-Control", "no-store")
	h.Del("Content-Disposition")
	if p.RetryAfterSeconds > 0 {
		value := api.RetryAfterValue(time.Duration(p.RetryAfterSeconds) * time.Second)
		h.Set(api.HeaderRetryAfter, value)
		h.Set(api.HeaderXRetryAfter, value)
	}
	if p.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="api"`)
	}
	body, err := json.Marshal(p)
	if err != nil { // Strings and integers always encode.
		body = []byte(`{}`)
	}
	w.WriteHeader(p.Status)
	_, _ = w.Write(body) // The caller may have gone; that is no fault of the server's.
}
