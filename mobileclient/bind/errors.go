package bind

import (
	"errors"

	"example.com/gatehouse/mobileclient"
)

// APIError is what an exception of a call says beyond its message.
type APIError struct {
	// Status is the HTTP status, and Code the API's name of the error, such as RATE_LIMIT_EXCEEDED.
	Status  int
	Code    string
	Message string
	// RequestID finds the request in the server's log.
	RequestID string
	// Local is true where the client refused and nothing was sent.
	Local bool
	// RateLimited is true for spent budgets, local or not.
	RateLimited bool
	// RetryAfterMillis and RetryAfterSeconds are the wait that helps; 0 where none is known to.
	RetryAfterMillis  int64
	RetryAfterSeconds int64
	// Endpoint is the path that was called, with ids as ":id".
	Endpoint string

	budgets []string
	fields  []Field
}

// Field is one field of a request that is at fault.
type Field struct{ Name, Message string }

// ErrorDetails returns the details of an exception that a call threw, or null where it is not an answer of the API nor the client's
// own refusal but a fault of the network for instance.
func ErrorDetails(err error) *APIError {
	e, ok := errors.AsType[*mobileclient.Error](err)
	if !ok {
		return nil
	}
	d := &APIError{
		Status: e.Status, Code: string(e.Code), Message: e.Message, RequestID: e.RequestID, Local: e.Local,
		RateLimited:      errors.Is(e, mobileclient.ErrRateLimited),
		RetryAfterMillis: e.Details.RetryAfter, RetryAfterSeconds: e.Details.RetryAfterSeconds,
		Endpoint: e.Details.Endpoint, budgets: e.Details.Budgets,
	}
	for _, f := range e.Fields {
		d.fields = append(d.fields, Field{Name: f.Field, Message: f.Message})
	}
	return d
}

// BudgetCount is how many budgets refused.
func (e *APIError) BudgetCount() int { return len(e.budgets) }

// BudgetAt is the name of one of them; empty beyond the last.
func (e *APIError) BudgetAt(i int) string { return at(e.budgets, i) }

// FieldCount is how many fields are at fault.
func (e *APIError) FieldCount() int { return len(e.fields) }

// FieldAt is one of them; null beyond the last.
func (e *APIError) FieldAt(i int) *Field { return pointerAt(e.fields, i) }

// at is an item of a list, or the zero value where the list has none there: an exception for an index would end an app.
func at[T any](list []T, i int) T {
	var none T
	if i < 0 || i >= len(list) {
		return none
	}
	return list[i]
}

// pointerAt is a copy of an item, or nil.
func pointerAt[T any](list []T, i int) *T {
	if i < 0 || i >= len(list) {
		return nil
	}
	item := list[i]
	return &item
}
