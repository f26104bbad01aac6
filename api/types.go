package api

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
