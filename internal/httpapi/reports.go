package httpapi

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

func (s *Server) reportHandlers() map[string]handler {
	return map[string]handler{
		api.RouteReportsCreate:    s.reportsCreate,
		api.RouteAdminReportsList: s.adminReportsList,
	}
}

// reportsCreate tells the administrators of a task. There is no route to read it back: Location names the task.
func (s *Server) reportsCreate(c *call) error {
	in, err := decode[api.ReportCreate](c)
	if err != nil {
		return err
	}
	taskID, err := uuid.Parse(in.TaskID)
	if err != nil { // Validated before.
		return notFound()
	}
	report, err := s.Store.CreateReport(c.context(), store.NewReport{
		OrgID: c.caller.OrgID, UserID: c.caller.UserID, TaskID: taskID, Reason: in.Reason, Keep: keep(c, reportCreated),
	})
	if err != nil {
		return fmt.Errorf("create report: %w", err)
	}
	answer, err := reportCreated(report)
	return s.reply(c, answer, err)
}

func reportCreated(r store.Report) (store.Answer, error) {
	return jsonAnswer(http.StatusCreated, taskURL(r.TaskID), api.Report{
		ID: r.ID.String(), TaskID: r.TaskID.String(), Reason: r.Reason, CreatedAt: api.NewTime(r.CreatedAt),
	})
}

func (s *Server) adminReportsList(c *call) error {
	p, err := c.plainPage()
	if err != nil {
		return err
	}
	reports, err := s.Store.ListReports(c.context(), more(p))
	if err != nil {
		return fmt.Errorf("list reports: %w", err)
	}
	reports, next := cut(reports, p, func(r store.ReadReport) store.Cursor { return store.Cursor{CreatedAt: r.CreatedAt, ID: r.ID} })
	return c.json(http.StatusOK, api.AdminReportList{Items: bodies(reports, reportBody), NextCursor: next})
}

func reportBody(r store.ReadReport) api.AdminReport {
	body := api.AdminReport{
		ID: r.ID.String(), TaskID: r.TaskID.String(), TaskTitle: r.TaskTitle, Reason: r.Reason,
		Organisation: api.OrganisationRef{ID: r.OrgID.String(), Name: r.OrgName}, CreatedAt: api.NewTime(r.CreatedAt),
	}
	if r.Reporter != nil {
		reporter := personBody(*r.Reporter)
		body.ReportedBy = &reporter
	}
	return body
}
