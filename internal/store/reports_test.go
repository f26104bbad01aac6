package store_test

import (
	"testing"

	"example.com/gatehouse/internal/store"
	"example.com/gatehouse/internal/store/storetest"
)

func TestListReports(t *testing.T) {
	t.Parallel()
	s := storetest.New(t)
	member := ensure(t, s, alice())
	kept, gone := must(s.CreateTask(t.Context(), newTask(member)))(t), must(s.CreateTask(t.Context(), newTask(member)))(t)
	for _, task := range []store.Task{kept, gone} {
		must(s.CreateReport(t.Context(), store.NewReport{OrgID: member.OrgID, TaskID: task.ID, UserID: member.UserID, Reason: "spam"}))(t)
	}
	if err := s.DeleteTask(t.Context(), member.OrgID, gone.ID); err != nil {
		t.Fatal(err)
	}
	reports := must(s.ListReports(t.Context(), store.Page{Limit: 5}))(t)
	if len(reports) != 2 || reports[0].TaskTitle != nil || reports[1].TaskTitle == nil || *reports[1].TaskTitle != kept.Title {
		t.Fatalf("the reports are %+v", reports)
	}
	if r := reports[1]; r.OrgName != member.OrgName || r.Reporter == nil || r.Reporter.Name != member.Name || r.Reporter.ID != member.UserID {
		t.Errorf("the report is %+v", r)
	}
}
