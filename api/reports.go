package api

import "net/http"

// The ids of the routes of reports.
const (
	RouteReportsCreate    = "reports.create"
	RouteAdminReportsList = "admin.reports.list"
)

func reportRoutes() []Route {
	return []Route{
		{
			ID: RouteReportsCreate, Method: http.MethodPost, Path: BasePath + "/reports", Budgets: []string{"reports.create"}, Request: ReportCreate{}, Response: Report{}, Status: http.StatusCreated,
			TakesKey: true, Summary: "Reports a task to the administrators.",
		},
	}
}

func adminReportRoutes() []Route {
	return []Route{
		{
			ID: RouteAdminReportsList, Method: http.MethodGet, Path: BasePath + "/admin/reports", Class: ClassAdmin, Response: AdminReportList{}, Status: http.StatusOK,
			Query: paging(), Summary: "What people reported, of all organisations, newest first.",
		},
	}
}

// ReportCreate is the body of reports.create.
type ReportCreate struct {
	TaskID string `json:"taskId"`
	Reason string `json:"reason"`
}

// Report tells the administrators of a task.
type Report struct {
	ID        string `json:"id"`
	TaskID    string `json:"taskId"`
	Reason    string `json:"reason"`
	CreatedAt Time   `json:"createdAt"`
}

// AdminReport is a report as administrators read it.
type AdminReport struct {
	ID     string `json:"id"`
	TaskID string `json:"taskId"`
	// TaskTitle is null once the task was deleted.
	TaskTitle    *string         `json:"taskTitle"`
	Reason       string          `json:"reason"`
	Organisation OrganisationRef `json:"organisation"`
	// ReportedBy is null once that person's data was removed.
	ReportedBy *PersonRef `json:"reportedBy"`
	CreatedAt  Time       `json:"createdAt"`
}

// AdminReportList is a page of reports, newest first.
type AdminReportList struct {
	Items      []AdminReport `json:"items"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// Validate returns every broken rule.
func (r ReportCreate) Validate() []FieldError {
	var f faults
	if !IsID(r.TaskID) {
		f.addf("taskId", "must be the id of a task")
	}
	f.text("reason", r.Reason, MaxReason)
	return f
}
