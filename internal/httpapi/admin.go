package httpapi

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

// act is what the caller does to a target, and why.
func (c *call) act(target, reason string) store.Act {
	return store.Act{Actor: c.caller.UserID, Action: c.row.ID, Target: target, Reason: reason, RequestID: c.exchange.id}
}

// done logs what an administrator did. The audit has it too, but the log is what alerts are made of.
func (s *Server) done(c *call, act store.Act) {
	s.Log.InfoContext(c.context(), "administrator acted", "user", act.Actor.String(), "action", act.Action,
		"target", act.Target, "reason", act.Reason)
}

// reason reads why from the query of a route without a body.
func (c *call) reason() (string, error) {
	query, err := c.query()
	if err != nil {
		return "", err
	}
	reason := query.Get("reason")
	return reason, invalid(api.CheckReason(reason))
}

func personBody(p store.Person) api.PersonRef {
	return api.PersonRef{ID: p.ID.String(), Name: p.Name, Email: p.Email}
}

func (s *Server) adminOrgsList(c *call) error {
	p, err := c.plainPage()
	if err != nil {
		return err
	}
	orgs, err := s.Store.ListOrganisations(c.context(), more(p))
	if err != nil {
		return fmt.Errorf("list organisations: %w", err)
	}
	orgs, next := cut(orgs, p, func(o store.Organisation) store.Cursor { return store.Cursor{CreatedAt: o.CreatedAt, ID: o.ID} })
	return c.json(http.StatusOK, api.OrganisationList{Items: bodies(orgs, orgBody), NextCursor: next})
}

func orgBody(o store.Organisation) api.Organisation {
	return api.Organisation{
		ID: o.ID.String(), Name: o.Name, Plan: o.Plan, MemberCount: o.MemberCount, CreatedAt: api.NewTime(o.CreatedAt),
	}
}

// adminOrgsPlan puts an organisation on a plan. Whoever is signed in keeps their credential: plans are in no token.
func (s *Server) adminOrgsPlan(c *call) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	in, err := decode[api.PlanChange](c)
	if err != nil {
		return err
	}
	act := c.act("organisation/"+id.String(), in.Reason)
	if err := s.setPlan(c, act, id, in.Plan); err != nil {
		return err
	}
	s.done(c, act)
	org, err := s.Store.Organisation(c.context(), id)
	if err != nil {
		return fmt.Errorf("get organisation: %w", err)
	}
	return c.json(http.StatusOK, orgBody(org))
}

func (s *Server) setPlan(c *call, act store.Act, org uuid.UUID, plan string) error {
	err := s.Store.SetPlan(c.context(), act, org, plan)
	if !errors.Is(err, store.ErrUnknownPlan) {
		return err
	}
	names, err := s.Store.PlanNames(c.context())
	if err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	return invalid([]api.FieldError{{Field: "plan", Message: "must be one of " + strings.Join(names, ", ")}})
}

// adminPlansList pages by the plans' rank: they are shown smallest first.
func (s *Server) adminPlansList(c *call) error {
	query, err := c.query()
	if err != nil {
		return err
	}
	limit, fault := pageSize(query.Get("limit"))
	after, err := readRank(query.Get("cursor"))
	var faults []api.FieldError
	if fault != nil {
		faults = append(faults, *fault)
	}
	if err != nil {
		faults = append(faults, api.FieldError{Field: "cursor", Message: "must be the nextCursor of the page before"})
	}
	if err := invalid(faults); err != nil {
		return err
	}
	plans, err := s.Store.ListPlans(c.context(), after, limit+1)
	if err != nil {
		return fmt.Errorf("list plans: %w", err)
	}
	list := api.PlanList{}
	if len(plans) > limit {
		plans = plans[:limit]
		list.NextCursor = base64.RawURLEncoding.EncodeToString([]byte(strconv.Itoa(plans[limit-1].Rank)))
	}
	list.Items = bodies(plans, s.planBody)
	return c.json(http.StatusOK, list)
}

// readRank reads the cursor of the list of plans; without one it begins before the first.
func readRank(cursor string) (int, error) {
	if cursor == "" {
		return -1, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return 0, fmt.Errorf("decode cursor: %w", err)
	}
	rank, err := strconv.ParseInt(string(data), 10, 32)
	if err != nil {
		return 0, fmt.Errorf("read rank of cursor: %w", err)
	}
	return int(rank), nil
}

func (s *Server) planBody(p store.Plan) api.Plan {
	return api.Plan{Name: p.Name, Organisations: p.Organisations, Budgets: bodies(p.Budgets, func(b store.PlanBudget) api.PlanBudget {
		return api.PlanBudget{Budget: b.Budget, Limit: b.Limit, RefillPerSecond: b.Refill, Fault: s.planFault(b)}
	})}
}

func (s *Server) adminAuditList(c *call) error {
	p, err := c.plainPage()
	if err != nil {
		return err
	}
	entries, err := s.Store.ListAudit(c.context(), more(p))
	if err != nil {
		return fmt.Errorf("list audit: %w", err)
	}
	entries, next := cut(entries, p, func(e store.AuditEntry) store.Cursor { return store.Cursor{CreatedAt: e.At, ID: e.ID} })
	return c.json(http.StatusOK, api.AuditList{Items: bodies(entries, auditBody), NextCursor: next})
}

func auditBody(e store.AuditEntry) api.AuditEntry {
	return api.AuditEntry{
		ID: e.ID.String(), At: api.NewTime(e.At), Actor: personBody(e.Actor), Action: e.Act.Action, Target: e.Act.Target,
		Before: object(e.Before), After: object(e.After), Reason: e.Act.Reason, RequestID: e.Act.RequestID,
	}
}

// object reads a JSON object that the database keeps; nil for none.
func object(data []byte) map[string]any {
	var o map[string]any
	if json.Unmarshal(data, &o) != nil { // No object was kept.
		return nil
	}
	return o
}

// adminUsersRevoke ends a user's sessions and refuses the tokens that they have; every process knows within a second.
func (s *Server) adminUsersRevoke(c *call) error {
	id, err := c.id()
	if err != nil {
		return err
	}
	in, err := decode[api.Revocation](c)
	if err != nil {
		return err
	}
	act := c.act("user/"+id.String(), in.Reason)
	if err := s.Store.RevokeUserFor(c.context(), act, id); err != nil {
		return fmt.Errorf("revoke user: %w", err)
	}
	s.Known.RemoveUser(id)
	s.done(c, act)
	return c.noContent()
}

// adminThreaddump writes down every goroutine's stack.
func (s *Server) adminThreaddump(c *call) error {
	return s.dump(c, "text/plain; charset=utf-8", "goroutines.txt", func(to *bytes.Buffer) error {
		return pprof.Lookup("goroutine").WriteTo(to, 2)
	})
}

// adminHeapdump profiles the heap as it is after a collection, gzipped as pprof reads it.
func (s *Server) adminHeapdump(c *call) error {
	return s.dump(c, "application/octet-stream", "heap.pb.gz", func(to *bytes.Buffer) error {
		runtime.GC()
		return pprof.Lookup("heap").WriteTo(to, 0)
	})
}

// dump is written into the audit before it is made: nobody looks into a process unseen.
func (s *Server) dump(c *call, contentType, name string, write func(*bytes.Buffer) error) error {
	reason, err := c.reason()
	if err != nil {
		return err
	}
	act := c.act("process", reason)
	if err := s.Store.WriteAudit(c.context(), act); err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	s.done(c, act)
	var data bytes.Buffer
	if err := write(&data); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	c.gin.Header("Content-Disposition", `attachment; filename="`+name+`"`)
	c.gin.Data(http.StatusOK, contentType, data.Bytes())
	return nil
}

// scoped reads the scope of the path, which must be one of those given.
func (c *call) scoped(scopes ...api.Scope) (api.Scope, []api.FieldError) {
	scope := api.Scope(c.gin.Param("scope"))
	if slices.Contains(scopes, scope) {
		return scope, nil
	}
	var names []string
	for _, s := range scopes {
		names = append(names, string(s))
	}
	return scope, []api.FieldError{{Field: "scope", Message: "must be one of " + strings.Join(names, ", ")}}
}
