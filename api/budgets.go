package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Per says whose counter a budget is. Beside the kinds below it may be PerHeader, or a word of a fork's own, for which the
// server has a function of the request.
type Per string

// The kinds of key that a budget may be counted by.
const (
	PerAddress      Per = "address"
	PerUser         Per = "user"
	PerOrganisation Per = "organisation"
	PerSession      Per = "session"
	PerGlobal       Per = "global"
)

const (
	perHeader      = "header "
	inOrganisation = " in organisation"
)

// PerHeader is the kind of key that is a request's header of that name. Requests without it share one key.
func PerHeader(name string) Per { return Per(perHeader + http.CanonicalHeaderKey(name)) }

// Header is the name of the header that the key is; false for other kinds.
func (p Per) Header() (string, bool) {
	return strings.CutPrefix(strings.TrimSuffix(string(p), inOrganisation), perHeader)
}

// InOrganisation tells keys of the kind apart by organisation too. A budget that is charged beside those of a user must
// be one of these, since it is decided with them in one place.
func (p Per) InOrganisation() Per { return p + inOrganisation }

// Of is the kind without the organisation, and whether there was one.
func (p Per) Of() (kind Per, perOrganisation bool) {
	of, ok := strings.CutSuffix(string(p), inOrganisation)
	return Per(of), ok
}

// Algorithm is how a budget counts.
type Algorithm string

const (
	// Sliding admits at most Limit units in any span of Window, exactly.
	Sliding Algorithm = "sliding-window"
	// Segments is Sliding for large limits, in 60 segments: never over, late by less than Window ÷ 60.
	Segments Algorithm = "sliding-window-segments"
	// Bucket admits at most Limit + Refill × span units in any span.
	Bucket Algorithm = "token-bucket"
	// Fixed admits Limit units in the Window that its first hit begins, so up to 2 × Limit around a boundary.
	Fixed Algorithm = "fixed-window"
)

// Place is where a budget is counted.
type Place string

const (
	// InMemory counts in each process by itself: N processes admit up to N × Limit.
	InMemory Place = "memory"
	// InRedis counts in Redis, or in memory where no Redis is configured.
	InRedis Place = "redis"
	// InPostgres counts in the database.
	InPostgres Place = "postgres"
)

// Counts says whether the place has an algorithm.
func (p Place) Counts(a Algorithm) bool {
	return p != InPostgres || a == Sliding || a == Fixed
}

// What a limit may be.
const (
	// MaxSlidingLimit is the largest limit of a Sliding budget, which keeps the time of each unit.
	MaxSlidingLimit = 1_024
	// MaxLimit is the largest of the others, and the largest refill: larger ones could not be counted without overflow.
	MaxLimit = 1_000_000_000_000
	// MaxWindow is the longest that a bucket may take to fill.
	MaxWindow = 366 * 24 * time.Hour
)

// Mode is what a budget does when its store fails.
type Mode string

const (
	// FailOpen lets the request through, loudly.
	FailOpen Mode = "open"
	// FailLocal counts the whole limit in this process until the store is back.
	FailLocal Mode = "local"
	// FailClosed answers 503 LIMITER_UNAVAILABLE.
	FailClosed Mode = "closed"
)

// A Budget is a named allowance for each key.
type Budget struct {
	// Name is one word for a class of routes, and the route's id, perhaps with a suffix, for a route's own budget.
	Name string
	// Limit is the units a window; a token bucket's capacity.
	Limit int64
	// Window is the span that Limit applies to; for a token bucket it is Limit ÷ Refill, the time to full.
	Window time.Duration
	// Refill is the units a second that a token bucket gains; 0 for the others.
	Refill    int64
	Per       Per
	Algorithm Algorithm
	Place     Place
	OnFailure Mode
	// Unit is what is counted, in the plural.
	Unit string
	// Metered says that a request costs what it may use, and not one unit: the server reckons it before it decides.
	Metered bool
	// Why says in one sentence what the budget is for.
	Why string
}

// The budgets that belong to classes of routes rather than to one route.
const (
	BudgetEdge         = "edge"
	BudgetEdgeCaller   = "edge.caller"
	BudgetUser         = "user"
	BudgetOrganisation = "org"
	BudgetAdmin        = "admin"
)

// example:begin

// BudgetTokens is metered: what the model may use is reserved before the call, and settled to what it did use. Where no
// model is asked it costs nothing.
const BudgetTokens = "ai.tokens"

// example:end

// Budgets returns the table of budgets, in the order in which headers list them. It is the only place with the numbers.
func Budgets() []Budget {
	return slices.Concat(
		generalBudgets(),
		taskBudgets(), // example:line
		routeBudgets(),
	)
}

// requests is the unit of most.
const requests = "requests"

func generalBudgets() []Budget {
	return []Budget{
		{
			Name: BudgetEdge, Limit: 100, Window: time.Minute, Per: PerAddress, Algorithm: Sliding, Place: InMemory, OnFailure: FailLocal, Unit: requests,
			Why: "Keeps strangers, failed credentials and public routes of one address from the look-ups behind it.",
		},
		{
			Name: BudgetEdgeCaller, Limit: 1000, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InMemory, OnFailure: FailLocal, Unit: requests,
			Why: "Charged instead of the address once a credential is known, so that people behind one address do not share a budget.",
		},
		{
			Name: BudgetUser, Limit: 100, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "What one person may ask for, from wherever.",
		},
		{
			Name: BudgetOrganisation, Limit: 600, Window: time.Minute, Refill: 10, Per: PerOrganisation, Algorithm: Bucket, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "Keeps one noisy organisation from spending another's share.",
		},
		{
			Name: BudgetAdmin, Limit: 100, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "Administrators' routes, apart from what the same people spend as users.",
		},
	}
}

// example:begin

func taskBudgets() []Budget {
	return []Budget{
		{
			Name: "tasks.write", Limit: 30, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "Writes cost more than reads.",
		},
		{
			Name: "tasks.parse", Limit: 10, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "A model call costs money.",
		},
		{
			Name: "tasks.parse.burst", Limit: 3, Window: time.Second, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "Spreads model calls, so that one person never holds all of the model's slots.",
		},
		{
			Name: BudgetTokens, Limit: 20_000, Window: 24 * time.Hour, Per: PerUser, Algorithm: Segments, Place: InRedis, OnFailure: FailLocal, Unit: "tokens", Metered: true,
			Why: "What one person's model calls may cost a day, since one call can cost many times another.",
		},
		{
			Name: "tasks.export", Limit: 5, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "An export reads everything that the organisation has.",
		},
		{
			Name: "reports.create", Limit: 10, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailOpen, Unit: requests,
			Why: "A report takes a person's time to read.",
		},
	}
}

// example:end

// routeBudgets belong to one route each.
func routeBudgets() []Budget {
	return []Budget{
		{
			Name: "auth.login", Limit: 10, Window: time.Minute, Per: PerAddress, Algorithm: Sliding, Place: InPostgres, OnFailure: FailClosed, Unit: "sign-ins",
			Why: "Bounds abandoned sign-ins; given back when that sign-in completes.",
		},
		{
			Name: "auth.refresh", Limit: 30, Window: time.Minute, Per: PerSession, Algorithm: Sliding, Place: InPostgres, OnFailure: FailClosed, Unit: requests,
			Why: "A session is renewed rarely; more is a loop or an attack.",
		},
		{
			Name: "admin.threaddump", Limit: 20, Window: time.Minute, Per: PerUser, Algorithm: Sliding, Place: InRedis, OnFailure: FailLocal, Unit: requests,
			Why: "Writing down every goroutine stops them all for a moment.",
		},
		{
			Name: "admin.heapdump", Limit: 3, Window: 5 * time.Minute, Per: PerGlobal, Algorithm: Fixed, Place: InPostgres, OnFailure: FailClosed, Unit: "heap dumps",
			Why: "A heap dump costs memory and time of a process that may be short of both, so everybody together gets few.",
		},
	}
}

// BudgetNamed returns the budget of that name.
func BudgetNamed(name string) (Budget, bool) {
	all := Budgets()
	i := slices.IndexFunc(all, func(b Budget) bool { return b.Name == name })
	if i < 0 {
		return Budget{}, false
	}
	return all[i], true
}

// String gives the allowance as people read it, such as "10 requests per 60s".
func (b Budget) String() string { return Allowance(b.Limit, b.Unit, b.Window) }

// Allowance words a limit of units in a window, such as "10 requests per 60s".
func Allowance(limit int64, unit string, window time.Duration) string {
	return fmt.Sprintf("%d %s per %ds", limit, unit, CeilSeconds(window))
}

// CeilSeconds rounds a duration up to whole seconds; a negative one is 0.
func CeilSeconds(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	seconds := int64(d / time.Second)
	if d%time.Second > 0 {
		seconds++
	}
	return seconds
}

// CeilMilliseconds rounds a duration up to whole milliseconds; a negative one is 0.
func CeilMilliseconds(d time.Duration) int64 {
	return max(int64((d+time.Millisecond-1)/time.Millisecond), 0)
}
