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
