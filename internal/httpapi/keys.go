package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"slices"

	"example.com/gatehouse/api"
)

// A KeyFunc tells whose counter a request is charged under; "" is a key of its own, that of the unknown.
type KeyFunc func(*http.Request) string

// unknownKey is shared by the requests that have no key of the kind, such as those without the header.
const unknownKey = "unknown"

// ownKinds are those whose keys are known without looking into the request.
func ownKinds() []api.Per {
	return []api.Per{api.PerAddress, api.PerUser, api.PerOrganisation, api.PerSession, api.PerGlobal}
}

// keyFunc finds how the keys of another kind are told; nil if nobody said.
func (s *Server) keyFunc(per api.Per) KeyFunc {
	if name, ok := per.Header(); ok && name != "" {
		return func(r *http.Request) string { return r.Header.Get(name) }
	}
	kind, _ := per.Of()
	return s.Keys[kind]
}

// keyOf is the request's key of that kind. It is a hash: what a caller sends may be long, and may be a secret.
func (s *Server) keyOf(per api.Per, r *http.Request) string {
	tell := s.keyFunc(per)
	if r == nil || tell == nil {
		return unknownKey
	}
	text := tell(r)
	if text == "" {
		return unknownKey
	}
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:16])
}

// slotOf names what the keys of a kind lie together by. Budgets that are decided in one call must lie together.
func slotOf(per api.Per) string {
	switch _, within := per.Of(); {
	case within, per == api.PerUser, per == api.PerOrganisation, per == api.PerSession:
		return string(api.PerOrganisation)
	default:
		return string(per)
	}
}

// checkKey refuses a budget whose keys nobody can tell.
func (s *Server) checkKey(b api.Budget) error {
	if slices.Contains(ownKinds(), b.Per) || s.keyFunc(b.Per) != nil {
		return nil
	}
	kind, _ := b.Per.Of()
	return fmt.Errorf("budget %s is counted per %q, and nothing tells that of a request: add a function for %q to Config.Keys, or use api.PerHeader", b.Name, b.Per, kind)
}
