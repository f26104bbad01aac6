package api

// Priority is how much a task matters.
type Priority string

// The priorities, least first.
const (
	PriorityNone   Priority = "none"
	PriorityLow    Priority = "low"
	PriorityMedium Priority = "medium"
	PriorityHigh   Priority = "high"
)

// Priorities returns all of them, least first.
func Priorities() []Priority {
	return []Priority{PriorityNone, PriorityLow, PriorityMedium, PriorityHigh}
}

// Task is a thing to do. It belongs to an organisation, whose members see and edit it.
type Task struct {
	ID       string   `json:"id"`
	Title    string   `json:"title"`
	Notes    string   `json:"notes"`
	DueAt    *Time    `json:"dueAt"`
	Priority Priority `json:"priority"`
	Tags     []string `json:"tags"`
	Done     bool     `json:"done"`
	// CreatedBy is the id of a user; null once that person's data was removed.
	CreatedBy *string `json:"createdBy"`
	CreatedAt Time    `json:"createdAt"`
	UpdatedAt Time    `json:"updatedAt"`
}

// TaskList is a page of tasks, newest first.
type TaskList struct {
	Items []Task `json:"items"`
	// NextCursor is absent at the end.
	NextCursor string `json:"nextCursor,omitempty"`
}

// TaskCreate is the body of tasks.create. Only the title is required.
type TaskCreate struct {
	Title    string   `json:"title"`
	Notes    string   `json:"notes,omitempty"`
	DueAt    *Time    `json:"dueAt,omitempty"`
	Priority Priority `json:"priority,omitempty"`
	Tags     []string `json:"tags,omitempty"`
	Done     bool     `json:"done,omitempty"`
}

// TaskUpdate is the body of tasks.update: an absent field keeps its value, null clears it.
type TaskUpdate struct {
	Title    Optional[string]   `json:"title,omitzero"`
	Notes    Optional[string]   `json:"notes,omitzero"`
	DueAt    Optional[Time]     `json:"dueAt,omitzero"`
	Priority Optional[Priority] `json:"priority,omitzero"`
	Tags     Optional[[]string] `json:"tags,omitzero"`
	Done     Optional[bool]     `json:"done,omitzero"`
}

// ParseRequest is the body of tasks.parse.
type ParseRequest struct {
	Text string `json:"text"`
	// Timezone is an IANA name, which dates and times in the text are read in; UTC if absent.
	Timezone string `json:"timezone,omitempty"`
}

// ParseResult is what was understood of a text.
type ParseResult struct {
	// Parser is "local" or "model".
	Parser string  `json:"parser"`
	Drafts []Draft `json:"drafts"`
}

// Draft is a task that is not saved yet.
type Draft struct {
	Title    string   `json:"title"`
	Notes    string   `json:"notes"`
	DueAt    *Time    `json:"dueAt"`
	Priority Priority `json:"priority"`
	Tags     []string `json:"tags"`
	Spans    []Span   `json:"spans"`
}

// Span is a part of the text, half open, in UTF-16 code units, and what it was taken for.
type Span struct {
	Start int    `json:"start"`
	End   int    `json:"end"`
	Kind  string `json:"kind"`
}

// ReportCreate is the body of reports.create.
type ReportCreate struct {
	TaskID string `json:"taskId"`
	Reason string `json:"reason"`
}

// Report tells the administrators of a task.
type Report struct {
	ID        string `json:"id"`
	TaskID    string `json:"taskId"`
	Reason    string `json:"reason"`
	CreatedAt Time   `json:"createdAt"`
}

// Me is who is calling.
type Me struct {
	ID           string         `json:"id"`
	Name         string         `json:"name"`
	Email        string         `json:"email"`
	Organisation MyOrganisation `json:"organisation"`
	Roles        []string       `json:"roles"`
	// Via is "session" or "bearer".
	Via string `json:"via"`
	// SessionExpiresAt is when the session ends whatever its use; absent for a bearer token.
	SessionExpiresAt *Time `json:"sessionExpiresAt,omitempty"`
}

// MyOrganisation is the organisation that the caller acts for.
type MyOrganisation struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Plan string `json:"plan"`
}

// Organisation is a tenant.
type Organisation struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Plan        string `json:"plan"`
	MemberCount int    `json:"memberCount"`
	CreatedAt   Time   `json:"createdAt"`
}

// LogoutResult says where the issuer's own session can be ended.
type LogoutResult struct {
	// EndSessionURL is null where the issuer has no such page.
	EndSessionURL *string `json:"endSessionUrl"`
}

// Limits is what the caller may still spend.
type Limits struct {
	Caller  LimitsCaller  `json:"caller"`
	Budgets []LimitStatus `json:"budgets"`
}

// LimitsCaller is who the budgets belong to.
type LimitsCaller struct {
	// Kind is "address" without a credential, else "user".
	Kind   string `json:"kind"`
	UserID string `json:"userId,omitempty"`
	OrgID  string `json:"orgId,omitempty"`
	Plan   string `json:"plan,omitempty"`
}

// LimitStatus is the state of one budget of the caller.
type LimitStatus struct {
	Name      string    `json:"name"`
	Per       Per       `json:"per"`
	Algorithm Algorithm `json:"algorithm"`
	// Limit is null where the budget is unlimited.
	Limit           *int64 `json:"limit"`
	WindowSeconds   int64  `json:"windowSeconds"`
	RefillPerSecond int64  `json:"refillPerSecond,omitempty"`
	// Remaining is null where it is unlimited or its store could not say.
	Remaining *int64 `json:"remaining"`
	// ResetMS is the milliseconds until Remaining grows; 0 when nothing is spent.
	ResetMS int64 `json:"resetMs"`
	// Enforced is false for a budget in shadow: counted, never refusing.
	Enforced bool `json:"enforced"`
	// Source is where the numbers come from.
	Source Source `json:"source"`
	// Store is where it is counted.
	Store Place `json:"store"`
	// Degraded says that the store fails and the budget's mode is in force.
	Degraded bool `json:"degraded"`
	// Routes are the ids of the routes that charge it; empty for the edge, which all do.
	Routes []string `json:"routes"`
}
