package auth

import (
	"encoding/json"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"

	"example.com/gatehouse/internal/store"
)

const (
	// maxID is the longest subject or organisation claim, in bytes: OpenID Connect caps sub at 255.
	maxID = 255
	// maxText is the longest name or e-mail address that is kept, in characters; longer ones are cut.
	maxText = 254
	// maxRoles is how many roles of a token are kept.
	maxRoles = 64
)

// claims are a token's claims. Reading one of the wrong type gives the zero value, so that an odd optional claim does
// not make a good token useless; the required ones are checked for being there.
type claims map[string]json.RawMessage

func (c claims) has(name string) bool {
	raw, ok := c[name]
	return ok && string(raw) != "null"
}

func (c claims) text(name string) string {
	var text string
	if json.Unmarshal(c[name], &text) != nil {
		return ""
	}
	return text
}

// time reads seconds since 1970; the zero time if the claim is no number.
func (c claims) time(name string) time.Time {
	var seconds float64
	if json.Unmarshal(c[name], &seconds) != nil {
		return time.Time{}
	}
	return time.Unix(int64(seconds), 0)
}

// list reads an array of strings, or one string, and leaves out what cannot be a name. A name that is not a claim and has a dot reaches into objects
// (Keycloak's realm_access.roles).
func (c claims) list(name string) []string {
	raw, ok := c[name]
	if outer, inner, dotted := strings.Cut(name, "."); !ok && dotted {
		var object claims
		if json.Unmarshal(c[outer], &object) != nil {
			return nil
		}
		return object.list(inner)
	}
	var one string
	if json.Unmarshal(raw, &one) == nil && isID(one) {
		return []string{one}
	}
	var many []string
	if json.Unmarshal(raw, &many) != nil {
		return nil
	}
	many = slices.DeleteFunc(many, func(text string) bool { return !isID(text) })
	return many[:min(len(many), maxRoles)]
}

// identity is who a verified token is about. Without an organisation claim the user gets an organisation of their own.
func (a *Auth) identity(token *oidc.IDToken, c claims) (store.Identity, error) {
	id := store.Identity{
		Issuer: a.cfg.Issuer, Subject: token.Subject,
		Name: tidy(c.text("name")), Email: tidy(c.text("email")),
	}
	if !isID(id.Subject) {
		return store.Identity{}, invalid("the token's sub is missing or unusable")
	}
	if id.Name == "" {
		id.Name = tidy(c.text("preferred_username"))
	}
	return a.withOrganisation(id, c)
}

func (a *Auth) withOrganisation(id store.Identity, c claims) (store.Identity, error) {
	if a.cfg.OrgClaim == "-" || !c.has(a.cfg.OrgClaim) {
		id.Personal = true
		return id, nil
	}
	id.OrgClaim = c.text(a.cfg.OrgClaim)
	if !isID(id.OrgClaim) {
		return store.Identity{}, invalid("the token's %s is not a usable string", a.cfg.OrgClaim)
	}
	id.OrgName = tidy(c.text("org_name"))
	return id, nil
}

// isID says whether text can name a user or an organisation: not empty, of bounded length, nothing unprintable.
func isID(text string) bool {
	return text != "" && len(text) <= maxID && !strings.ContainsFunc(text, unicode.IsControl)
}

// tidy makes a name fit to be stored and shown: no control characters, a bounded length, no space around it.
func tidy(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, text)
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText])
	}
	return strings.TrimSpace(text)
}
