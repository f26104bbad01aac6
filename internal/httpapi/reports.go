package httpapi

import (
	"fmt"
	"net/http"

	"github.com/google/uuid"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

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
		OrgID: c.caller.OrgID, UserID: c.caller.UserID, TaskID: taskID, Reason: in.Reason,
	})
	if err != nil {
		return fmt.Errorf("create report: %w", err)
	}
	task, _ := api.RouteByID(api.RouteTasksGet)
	c.gin.Header("Location", task.URL(in.TaskID))
	return c.json(http.StatusCreated, api.Report{
		ID: report.ID.String(), TaskID: report.TaskID.String(), Reason: report.Reason, CreatedAt: api.NewTime(report.CreatedAt),
	})
}
