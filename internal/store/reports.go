package store

import (
	"context"

	"github.com/google/uuid"

	"example.com/gatehouse/internal/dbgen"
)

// A ReadReport is a report as administrators read it.
type ReadReport struct {
	Report
	OrgID   uuid.UUID
	OrgName string
	// TaskTitle is nil once the task was deleted, Reporter once that person's data was removed.
	TaskTitle *string
	Reporter  *Person
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
