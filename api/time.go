package api

import (
	"bytes"
	"encoding/json"
	"reflect"
	"time"
)

// TimeLayout is RFC 3339 in UTC to the millisecond: how the contract writes times.
const TimeLayout = "2006-01-02T15:04:05.000Z"

// Time is a point in time, in UTC to the millisecond on the wire.
type Time struct{ time.Time }

// NewTime returns t in UTC, cut to the millisecond.
func NewTime(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// NewTimePtr is NewTime of a time that may be absent.
func NewTimePtr(t *time.Time) *Time {
	if t == nil {
		return nil
	}
	at := NewTime(*t)
	return &at
}

// MarshalJSON writes TimeLayout.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(TimeLayout) + `"`), nil
}

// UnmarshalJSON reads any RFC 3339 time, whatever its zone. The years are those that TimeLayout can write.
func (t *Time) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return notATime()
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return notATime()
	}
	if year := at.UTC().Year(); year < 1 || year > 9999 {
		return notATime()
	}
	*t = NewTime(at)
	return nil
}

// notATime is of the type to which encoding/json adds the name of the field.
func notATime() error {
	return &json.UnmarshalTypeError{Value: "this value", Type: reflect.TypeFor[Time]()}
}

// Optional is a field of a PATCH body: absent (keep), null (clear) or a value. Give it the JSON option omitzero.
type Optional[T any] struct {
	// Set says that the field was there.
	Set bool
	// Null says that it was null.
	Null  bool
	Value T
}

// Some sets a field.
func Some[T any](value T) Optional[T] { return Optional[T]{Set: true, Value: value} }

// Clear sets a field to null.
func Clear[T any]() Optional[T] { return Optional[T]{Set: true, Null: true} }

// IsZero says that the field is absent.
func (o Optional[T]) IsZero() bool { return !o.Set }

// MarshalJSON writes the value or null.
func (o Optional[T]) MarshalJSON() ([]byte, error) {
	if !o.Set || o.Null {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads a value or null.
func (o *Optional[T]) UnmarshalJSON(data []byte) error {
	o.Set = true
	if bytes.Equal(data, []byte("null")) {
		o.Null = true
		return nil
	}
	return json.Unmarshal(data, &o.Value)
}
