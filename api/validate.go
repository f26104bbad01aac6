package api

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// The rules of the request bodies. Lengths of text are in characters (Unicode code points).
const (
	MaxReason = 1_000
	MaxPlan   = 64
)

// Pages of lists.
const (
	DefaultPage = 50
	MaxPage     = 200
)

type faults []FieldError

func (f *faults) addf(field, format string, args ...any) {
	*f = append(*f, FieldError{Field: field, Message: fmt.Sprintf(format, args...)})
}

// text checks a required text.
func (f *faults) text(field, value string, most int) {
	if strings.TrimSpace(value) == "" {
		f.addf(field, "must not be blank")
		return
	}
	f.length(field, value, most)
}

// length checks a text that may be empty. NUL is refused because PostgreSQL cannot hold it.
func (f *faults) length(field, value string, most int) {
	if n := utf8.RuneCountInString(value); n > most {
		f.addf(field, "must have at most %d characters, has %d", most, n)
	}
	if strings.ContainsRune(value, 0) {
		f.addf(field, "must not contain the NUL character")
	}
}

// Validate returns every broken rule. Which plans there are is the database's to say.
func (p PlanChange) Validate() []FieldError {
	var f faults
	f.text("plan", p.Plan, MaxPlan)
	f.text("reason", p.Reason, MaxReason)
	return f
}

// Validate returns every broken rule.
func (r Revocation) Validate() []FieldError {
	var f faults
	f.text("reason", r.Reason, MaxReason)
	return f
}

// Validate returns the broken rules of the body alone. What the budget allows needs the budget.
func (o OverridePut) Validate() []FieldError {
	var f faults
	switch {
	case o.Limit == nil && !o.Unlimited:
		f.addf("limit", "must be given, or unlimited must be true")
	case o.Limit != nil && o.Unlimited:
		f.addf("unlimited", "must not be given together with limit")
	case o.Limit != nil && *o.Limit < 0:
		f.addf("limit", "must not be negative; 0 denies everything")
	}
	if o.RefillPerSecond != nil && *o.RefillPerSecond < 1 {
		f.addf("refillPerSecond", "must be at least 1")
	}
	f.text("reason", o.Reason, MaxReason)
	return f
}

// CheckReason returns the broken rules of a reason in a query, which may be absent.
func CheckReason(reason string) []FieldError {
	var f faults
	f.length("reason", reason, MaxReason)
	return f
}

// IsID says whether text has the one form that ids have: a lower-case UUID with hyphens.
func IsID(text string) bool {
	if len(text) != 36 {
		return false
	}
	for i, c := range []byte(text) {
		hyphen := i == 8 || i == 13 || i == 18 || i == 23
		hex := c >= '0' && c <= '9' || c >= 'a' && c <= 'f'
		if hyphen && c != '-' || !hyphen && !hex {
			return false
		}
	}
	return true
}
