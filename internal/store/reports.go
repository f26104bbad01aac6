package store

import (
	"context"
	"time"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// A NewReport tells the administrators of a task.
type NewReport struct {
	OrgID, TaskID, UserID uuid.UUID
	Reason                string
	// Keep, if not nil, keeps the answer that tells of the report.
	Keep *Keep[Report]
}

// A Report is a report that was made.
type Report struct {
	ID, TaskID uuid.UUID
	Reason     string
	CreatedAt  time.Time
}

// A ReadReport is a report as administrators read it.
type ReadReport struct {
	Report
	OrgID   uuid.UUID
	OrgName string
	// TaskTitle is nil once the task was deleted, Reporter once that person's data was removed.
	TaskTitle *string
	Reporter  *Person
}

// CreateReport reports a task. ErrNotFound: it is not this organisation's, or the user is gone. ErrKeyAtWork: its claim was
// lost.
func (s *Store) CreateReport(ctx context.Context, n NewReport) (Report, error) {
	return writing(ctx, s, "make report", n.Keep, func(ctx context.Context, q *dbgen.Queries) (Report, error) {
		row, err := q.CreateReport(ctx, dbgen.CreateReportParams{
			ID: newID(), OrganisationID: n.OrgID, TaskID: n.TaskID, ReportedBy: &n.UserID, Reason: n.Reason,
		})
		return Report{ID: row.ID, TaskID: row.TaskID, Reason: row.Reason, CreatedAt: utc(row.CreatedAt)}, err
	})
}

// ListReports returns a page of the reports of all organisations, newest first.
func (s *Store) ListReports(ctx context.Context, p Page) ([]ReadReport, error) {
	before, size := p.params()
	rows, err := one(ctx, s, "list reports", func(ctx context.Context, q *dbgen.Queries) ([]dbgen.ListReportsRow, error) {
		return q.ListReports(ctx, dbgen.ListReportsParams{BeforeAt: before.CreatedAt, BeforeID: before.ID, PageSize: size})
	})
	reports := make([]ReadReport, len(rows))
	for i, row := range rows {
		r := row.Report
		reports[i] = ReadReport{
			Report: Report{ID: r.ID, TaskID: r.TaskID, Reason: r.Reason, CreatedAt: utc(r.CreatedAt)},
			OrgID:  r.OrganisationID, OrgName: row.OrganisationName, TaskTitle: row.TaskTitle,
		}
		if r.ReportedBy != nil {
			reports[i].Reporter = &Person{ID: *r.ReportedBy, Name: valueOr(row.ReporterName, ""), Email: valueOr(row.ReporterEmail, "")}
		}
	}
	return reports, err
}
