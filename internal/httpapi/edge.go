package httpapi

import (
	"net/http"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
	"example.com/gatehouse/internal/ratelimit"
)

// limitEdge is the limit ahead of everything that costs: body, routing, authentication. It asks no store but this
// process's memory, unless EDGE_STORE says so. A known credential is charged to its user, everyone else to the address.
func (s *Server) limitEdge(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		x := exchangeOf(r)
		if !x.client.Readable && s.Hooks.UnreadableAddress != nil {
			s.Hooks.UnreadableAddress()
		}
		x.credential, x.credentialErr = s.Auth.Credential(r)
		ask := s.edgeAsk(x)
		x.edge = s.Limiter.Decide(r.Context(), ask)
		s.refusals.note(&x.edge, ask)
		setQuotaHeaders(w.Header(), &x.edge)
		if err := s.refusal(&x.edge); err != nil {
			s.fail(w, r, err)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func (s *Server) edgeAsk(x *exchange) ratelimit.Ask {
	if user, ok := s.Known.User(x.credential); ok {
		return s.ask(api.BudgetEdgeCaller, payer{userID: user}, 1)
	}
	x.stranger = true
	return s.ask(api.BudgetEdge, payer{address: x.client.Key}, 1)
}

// moveCharge settles the edge once a stranger has turned out to be a caller: the user is charged, and if that fits the
// address gets its unit back. If not, this is a refusal and the address keeps the charge, so that one account with many
// tokens gets no more than one account's share.
func (s *Server) moveCharge(c *call, user uuid.UUID) error {
	if !c.stranger {
		return nil
	}
	ask := s.ask(api.BudgetEdgeCaller, payer{userID: user}, 1)
	moved := s.Limiter.Decide(c.context(), ask)
	s.refusals.note(&moved, ask)
	if err := s.refusal(&moved); err != nil {
		setQuotaHeaders(c.writer().Header(), &c.edge, &moved)
		return err
	}
	s.Limiter.GiveBack(c.context(), c.edge)
	c.edge, c.stranger = moved, false
	setQuotaHeaders(c.writer().Header(), &c.edge)
	return nil
}

// authenticate finds out who is calling. Public routes do not look at the credential at all.
func (s *Server) authenticate(c *call) error {
	if c.row.Class == api.ClassPublic {
		return nil
	}
	if c.credentialErr != nil {
		return badRequest("Send either the session cookie or a bearer token, not both.")
	}
	if c.credential.Kind == auth.None {
		if c.row.Class.NeedsCredential() {
			return failure{code: api.CodeAuthFailed, detail: "This route needs a session or a bearer token."}
		}
		return nil
	}
	caller, err := s.Auth.Authenticate(c.context(), c.credential)
	if err != nil {
		return s.rejected(c, err)
	}
	c.caller = &caller
	if err := s.moveCharge(c, caller.UserID); err != nil {
		return err
	}
	// Again at each request: the time at which a session ends moves with its use.
	s.Known.Add(c.credential, caller.UserID, caller.CredentialExpiresAt)
	return nil
}

// authorise refuses who lacks the role that the route needs, or may have lost it: an administrator whose credential was
// revoked more than a second ago reaches nothing.
func (s *Server) authorise(c *call) error {
	if c.row.Class != api.ClassAdmin {
		return nil
	}
	if !c.caller.Admin {
		detail := "This route is for administrators."
		if len(c.caller.Roles) > 0 { // Perhaps they were one an hour ago.
			detail += " Roles are read at sign-in and count for an hour: sign in anew."
		}
		return failure{code: api.CodeForbidden, detail: detail}
	}
	if !s.Auth.Current(c.context()) {
		return failure{code: api.CodeUnavailable, detail: "Whether this credential was revoked a moment ago cannot be said now."}
	}
	return nil
}

// rejected forgets a credential that was definitely refused; an outage proves nothing about it.
func (s *Server) rejected(c *call, err error) error {
	f := failureOf(err)
	if f.code == api.CodeAuthFailed {
		s.Known.Remove(c.credential)
		f.detail = "The credential is not valid, or no longer."
	}
	return f
}
