package httpapi

import (
	"fmt"
	"net/http"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
)

func (s *Server) meGet(c *call) error { return c.json(http.StatusOK, meBody(c.caller)) }

func meBody(caller *auth.Caller) api.Me {
	me := api.Me{
		ID: caller.UserID.String(), Name: caller.Name, Email: caller.Email,
		Organisation: api.MyOrganisation{ID: caller.OrgID.String(), Name: caller.OrgName, Plan: caller.Plan},
		Roles:        append([]string{}, caller.Roles...), Via: string(caller.Via),
	}
	if caller.Via == auth.ViaSession {
		me.SessionExpiresAt = api.NewTimePtr(&caller.SessionExpiresAt)
	}
	return me
}

// meDelete removes the person's data and sessions, and refuses the tokens that they have. Signing in again makes them
// anew: the issuer still knows them.
func (s *Server) meDelete(c *call) error {
	if err := s.Store.DeleteUser(c.context(), c.caller.UserID); err != nil {
		return fmt.Errorf("delete user: %w", err)
	}
	s.Known.RemoveUser(c.caller.UserID)
	return c.noContent()
}

func (s *Server) orgGet(c *call) error {
	org, err := s.Store.Organisation(c.context(), c.caller.OrgID)
	if err != nil {
		return fmt.Errorf("get organisation: %w", err)
	}
	return c.json(http.StatusOK, api.Organisation{
		ID: org.ID.String(), Name: org.Name, Plan: org.Plan, MemberCount: org.MemberCount, CreatedAt: api.NewTime(org.CreatedAt),
	})
}
