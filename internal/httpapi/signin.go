package httpapi

import (
	"errors"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/auth"
)

// authLogin sends the browser to the issuer. What it was charged is kept with the sign-in, to be given back by whichever
// replica it comes back to signed in.
func (s *Server) authLogin(c *call) error {
	charge, err := s.Limiter.Vouchers(c.budgets)
	if err != nil {
		return err
	}
	target, cookie, err := s.Auth.Login(c.context(), c.request().URL.Query().Get("returnTo"), charge)
	if err != nil {
		return err
	}
	http.SetCookie(c.writer(), cookie)
	http.Redirect(c.writer(), c.request(), target, http.StatusFound)
	return nil
}

// authCallback ends a sign-in. Whatever a person can do something about is said on the page, not in an error body.
func (s *Server) authCallback(c *call) error {
	in, err := s.Auth.Callback(c.context(), c.request())
	if errors.Is(err, auth.ErrCallback) {
		return failure{code: api.CodeBadRequest, detail: "This is not the answer to a sign-in that this browser began. Sign in again.", cause: err}
	}
	if err != nil {
		return err
	}
	c.note(in.Cause)
	c.note(s.Limiter.Redeem(c.context(), in.Charge)) // Where that fails the person is signed in all the same.
	setCookies(c.writer(), in.Cookies)
	http.Redirect(c.writer(), c.request(), in.Location(), http.StatusSeeOther)
	return nil
}

// toldByPage is where a browser goes that was navigating through a sign-in when it failed, as it says in Sec-Fetch-Mode: it
// shows a person whatever it gets. Empty for everybody else, and for what a person can do nothing about.
func toldByPage(r *http.Request, code api.Code) string {
	login, callback := api.BasePath+"/auth/login", api.BasePath+"/auth/callback"
	if r.Method != http.MethodGet || r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.URL.Path != login && r.URL.Path != callback {
		return ""
	}
	switch {
	case code == api.CodeRateLimitExceeded:
		return auth.FailedAt(auth.CodeBusy)
	case code == api.CodeUnavailable, code == api.CodeLimiterUnavailable:
		return auth.FailedAt(auth.CodeUnavailable)
	case code == api.CodeBadRequest && r.URL.Path == callback:
		return auth.FailedAt(auth.CodeExpired)
	}
	return ""
}

// authRefresh gives the session a new token.
func (s *Server) authRefresh(c *call) error {
	cookies, err := s.Auth.Refresh(c.context(), *c.caller)
	if errors.Is(err, auth.ErrNotSession) {
		return badRequest("Only a session is refreshed here. Get a new bearer token from the issuer.")
	}
	if err != nil {
		return err
	}
	setCookies(c.writer(), cookies)
	s.knowCookies(cookies, c.caller)
	return c.json(http.StatusOK, meBody(c.caller))
}

// knowCookies makes a session's new token as well known as the old one was.
func (s *Server) knowCookies(cookies []*http.Cookie, caller *auth.Caller) {
	for _, cookie := range cookies {
		next := &http.Request{Header: http.Header{}}
		next.AddCookie(cookie)
		if credential, err := s.Auth.Credential(next); err == nil {
			s.Known.Add(credential, caller.UserID, caller.CredentialExpiresAt)
		}
	}
}

// authLogout ends the session. The route is public because ending nothing is no fault.
func (s *Server) authLogout(c *call) error {
	if c.credentialErr != nil {
		return badRequest("Send either the session cookie or a bearer token, not both.")
	}
	query, err := c.query()
	if err != nil {
		return err
	}
	everywhere := query.Get("everywhere") == "true"
	if text := query.Get("everywhere"); text != "" && text != "true" && text != "false" {
		return invalid([]api.FieldError{{Field: "everywhere", Message: "must be true or false"}})
	}
	ended, err := s.Auth.Logout(c.context(), c.credential, everywhere)
	if err != nil {
		return err
	}
	s.Known.Remove(c.credential)
	if everywhere {
		s.Known.RemoveUser(ended.UserID)
	}
	if ended.UserID != uuid.Nil {
		if err := s.moveCharge(c, ended.UserID); err != nil {
			return err
		}
	}
	setCookies(c.writer(), ended.Cookies)
	result := api.LogoutResult{}
	if ended.EndSessionURL != "" {
		result.EndSessionURL = &ended.EndSessionURL
	}
	return c.json(http.StatusOK, result)
}

// authBackchannel takes the issuer's word that somebody has signed out there.
func (s *Server) authBackchannel(c *call) error {
	token, err := c.formField("logout_token")
	if err != nil {
		return err
	}
	err = s.Auth.ObeyLogout(c.context(), token)
	if errors.Is(err, auth.ErrInvalid) {
		return failure{code: api.CodeBadRequest, detail: "The logout token is not valid.", cause: err}
	}
	if err != nil {
		return err
	}
	c.gin.Status(http.StatusOK)
	c.gin.Writer.WriteHeaderNow()
	return nil
}

func setCookies(w http.ResponseWriter, cookies []*http.Cookie) {
	for _, cookie := range cookies {
		http.SetCookie(w, cookie)
	}
}

// mountDevIDP mounts the development issuer. It is inside the edge like everything else.
func (s *Server) mountDevIDP(engine *gin.Engine) {
	if s.DevIDP == nil {
		return
	}
	const path = "/dev/idp/*path"
	engine.Any(path, func(g *gin.Context) {
		exchangeOf(g.Request).route = path
		s.DevIDP.ServeHTTP(g.Writer, g.Request)
	})
}
