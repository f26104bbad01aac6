package api

// Scope is whom an override or an explanation is about.
type Scope string

// The scopes. Of those that an override can have the later beats the earlier: plan, organisation, user.
const (
	ScopePlan         Scope = "plan"
	ScopeOrganisation Scope = "organisation"
	ScopeUser         Scope = "user"
	// ScopeAddress is explained and reset, and cannot be overridden: an address is not a person. So are the two below, whose
	// counters are a session's, by its id or, for bearer tokens, its user's, and everybody's, by the id GlobalID.
	ScopeAddress Scope = "address"
	ScopeSession Scope = "session"
	ScopeGlobal  Scope = "global"
)

// GlobalID is the one id of ScopeGlobal.
const GlobalID = "global"

// Source is where a budget's numbers come from.
type Source string

// The sources, each beaten by the next.
const (
	SourceTable        Source = "table"
	SourceFile         Source = "file"
	SourcePlan         Source = "plan"
	SourceOrganisation Source = "organisation"
	SourceUser         Source = "user"
)

// PersonRef names a user for people to read. Name and Email are empty once that person's data was removed.
type PersonRef struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Email string `json:"email"`
}

// OrganisationRef names an organisation for people to read.
type OrganisationRef struct {
	ID   string `json:"id"`
	Name string `json:"name"`
}

// OrganisationList is a page of organisations, newest first.
type OrganisationList struct {
	Items      []Organisation `json:"items"`
	NextCursor string         `json:"nextCursor,omitempty"`
}

// Plan is what organisations may be on.
type Plan struct {
	Name string `json:"name"`
	// Organisations is how many are on it.
	Organisations int `json:"organisations"`
	// Budgets are those that the plan changes; the others are as the table and the file of the deployment have them. An
	// override of the plan goes before its own number.
	Budgets []PlanBudget `json:"budgets"`
}

// PlanBudget is a plan's own number for a budget.
type PlanBudget struct {
	Budget          string `json:"budget"`
	Limit           int64  `json:"limit"`
	RefillPerSecond int64  `json:"refillPerSecond,omitempty"`
	// Fault says why the number does not hold as it stands, such as that the weaker sources decide in its place; absent where
	// it holds.
	Fault string `json:"fault,omitempty"`
}

// PlanList is a page of plans, smallest first.
type PlanList struct {
	Items      []Plan `json:"items"`
	NextCursor string `json:"nextCursor,omitempty"`
}

// PlanChange is the body of admin.orgs.plan.
type PlanChange struct {
	Plan   string `json:"plan"`
	Reason string `json:"reason"`
}

// Revocation is the body of admin.users.revoke.
type Revocation struct {
	Reason string `json:"reason"`
}

// OverridePut is the body of admin.overrides.put. Either a limit or unlimited is given; what else is absent stays as the
// weaker sources have it.
type OverridePut struct {
	Limit     *int64 `json:"limit,omitempty"`
	Unlimited bool   `json:"unlimited,omitempty"`
	// RefillPerSecond is a token bucket's.
	RefillPerSecond *int64 `json:"refillPerSecond,omitempty"`
	// Enforce false puts the budget in shadow: counted, never refusing.
	Enforce *bool `json:"enforce,omitempty"`
	// ExpiresAt is when the override ends by itself; absent: never.
	ExpiresAt *Time  `json:"expiresAt,omitempty"`
	Reason    string `json:"reason"`
}

// Override changes a budget for a plan, an organisation or a user.
type Override struct {
	Scope Scope `json:"scope"`
	// ID is a plan's name, or the id of an organisation or a user.
	ID string `json:"id"`
	// Name is the plan's, organisation's or user's, for people to read; empty once whom it names is gone.
	Name   string `json:"name"`
	Budget string `json:"budget"`
	// Limit is null where the budget is unlimited.
	Limit     *int64 `json:"limit"`
	Unlimited bool   `json:"unlimited"`
	// RefillPerSecond and Enforce are null where the weaker sources decide.
	RefillPerSecond *int64 `json:"refillPerSecond"`
	Enforce         *bool  `json:"enforce"`
	ExpiresAt       *Time  `json:"expiresAt"`
	// Expired says that it no longer counts.
	Expired bool   `json:"expired"`
	Reason  string `json:"reason"`
	// Author is who put it there.
	Author    PersonRef `json:"author"`
	CreatedAt Time      `json:"createdAt"`
	// Fault says why it does not hold as it stands, by settings that have changed since it was set; absent where it holds.
	Fault string `json:"fault,omitempty"`
}

// OverrideList is a page of overrides, newest first.
type OverrideList struct {
	Items      []Override `json:"items"`
	NextCursor string     `json:"nextCursor,omitempty"`
}

// AuditEntry is what an administrator did.
type AuditEntry struct {
	ID string `json:"id"`
	At Time   `json:"at"`
	// Actor is who did it.
	Actor PersonRef `json:"actor"`
	// Action is the id of the route.
	Action string `json:"action"`
	// Target is what it was done to, such as "organisation/…", "user/…/tasks.parse" or "process".
	Target string `json:"target"`
	// Before and After are what was changed, null where there was nothing, or is nothing now. The After of a reset is its
	// outcome, {"outcome": "done"} or "failed"; "begun" is under way, or was when the process or the database ended.
	Before map[string]any `json:"before"`
	After  map[string]any `json:"after"`
	// Reason is the administrator's own words.
	Reason    string `json:"reason"`
	RequestID string `json:"requestId"`
}

// AuditList is a page of the audit, newest first.
type AuditList struct {
	Items      []AuditEntry `json:"items"`
	NextCursor string       `json:"nextCursor,omitempty"`
}

// ThrottledList is whom this process refused most.
type ThrottledList struct {
	// Since is when counting began: an hour ago, or when the process started.
	Since Time           `json:"since"`
	Items []ThrottledKey `json:"items"`
	// Shadows are whom budgets in shadow would have refused most, had they been enforced. Nobody of them was refused for it.
	Shadows []ShadowedKey `json:"shadows"`
}

// ShadowedKey is one key of one budget that is, or was, in shadow.
type ShadowedKey struct {
	Budget string `json:"budget"`
	Per    Per    `json:"per"`
	// ID and Name are as those of ThrottledKey.
	ID   string `json:"id"`
	Name string `json:"name"`
	// WouldDeny is how many requests would have been refused; at most Overcounted of them belong to other keys.
	WouldDeny   int64 `json:"wouldDeny"`
	Overcounted int64 `json:"overcounted"`
	LastAt      Time  `json:"lastAt"`
}

// ThrottledKey is one key of one budget.
type ThrottledKey struct {
	Budget string `json:"budget"`
	Per    Per    `json:"per"`
	// ID is a user's, an organisation's or a session's id, or an address cut to its network. Where Per is a scope, Per and ID
	// are what admin.limits.explain takes.
	ID string `json:"id"`
	// Name is the organisation's or the user's, also of a session, for people to read; empty where there is none.
	Name string `json:"name"`
	// Denied is how many requests were refused; at most Overcounted of them belong to other keys.
	Denied      int64 `json:"denied"`
	Overcounted int64 `json:"overcounted"`
	LastAt      Time  `json:"lastAt"`
}

// LimiterStatus is how the limiter of one process is.
type LimiterStatus struct {
	// TableHash is equal on processes that decide by the same table.
	TableHash string          `json:"tableHash"`
	Stores    []LimiterStore  `json:"stores"`
	Budgets   []LimiterBudget `json:"budgets"`
	Memory    LimiterMemory   `json:"memory"`
}

// LimiterStore is a store of counters as this process sees it.
type LimiterStore struct {
	Store Place `json:"store"`
	// BreakerOpen says that the store is not asked for the moment because it failed.
	BreakerOpen bool `json:"breakerOpen"`
	// Epoch counts what made this process forget the refusals that it repeats without asking: resets and give-backs.
	Epoch int64 `json:"epoch"`
}

// LimiterBudget is a budget as this process counts it.
type LimiterBudget struct {
	Name  string `json:"name"`
	Store Place  `json:"store"`
	// Mode is what happens when the store fails.
	Mode Mode `json:"mode"`
	// Source is table or file.
	Source   Source `json:"source"`
	Enforced bool   `json:"enforced"`
	// Outage is null while the store counts.
	Outage *LimiterOutage `json:"outage"`
}

// LimiterOutage is a time in which a budget's mode decides.
type LimiterOutage struct {
	Since Time `json:"since"`
	// Decisions is how many the mode has made.
	Decisions int64  `json:"decisions"`
	Error     string `json:"error"`
}

// LimiterMemory is the store of counters in this process.
type LimiterMemory struct {
	Keys int64 `json:"keys"`
	// Evictions is how many keys were dropped before their time because the store was full.
	Evictions int64 `json:"evictions"`
}

// Explanation is what a user, an organisation, an address, a session or everybody together may spend, and why.
type Explanation struct {
	Scope Scope  `json:"scope"`
	ID    string `json:"id"`
	// Name is the organisation's or the user's, also of a session, for people to read.
	Name string `json:"name"`
	// Organisation is the user's own; null for an address and for everybody.
	Organisation *OrganisationRef `json:"organisation"`
	// Plan is the organisation's; empty where there is none.
	Plan    string            `json:"plan"`
	Budgets []ExplainedBudget `json:"budgets"`
}

// ExplainedBudget is the state of one budget, as this process would decide it now.
type ExplainedBudget struct {
	Name      string    `json:"name"`
	Per       Per       `json:"per"`
	Algorithm Algorithm `json:"algorithm"`
	// Limit is null where the budget is unlimited.
	Limit           *int64 `json:"limit"`
	WindowSeconds   int64  `json:"windowSeconds"`
	RefillPerSecond int64  `json:"refillPerSecond,omitempty"`
	// Source is where the numbers come from.
	Source Source `json:"source"`
	// Used and Remaining are null where it is unlimited or its store could not say.
	Used      *int64 `json:"used"`
	Remaining *int64 `json:"remaining"`
	// NextMS is the milliseconds until Remaining grows; 0 when nothing is spent.
	NextMS int64 `json:"nextMs"`
	// Store is where it is counted.
	Store Place `json:"store"`
	// Mode is what happens when the store fails; Degraded says that it does.
	Mode     Mode `json:"mode"`
	Degraded bool `json:"degraded"`
	// Epoch is that of the store in this process.
	Epoch int64 `json:"epoch"`
	// Enforced is false for a budget in shadow: counted, never refusing.
	Enforced bool `json:"enforced"`
	// Denied and WouldDeny are the requests of the last hour that this process refused, or would have refused but for the
	// shadow. Each is 0 for a key that is not among the most refused.
	Denied    int64 `json:"denied"`
	WouldDeny int64 `json:"wouldDeny"`
	// Bound says what the algorithm promises.
	Bound string `json:"bound"`
}
