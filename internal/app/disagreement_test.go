package app_test

import (
	"fmt"
	"strings"
	"testing"

	"example.com/gatehouse/internal/servertest"
	"example.com/gatehouse/internal/store/storetest"
)

// Two servers of one database that trust different proxies would take different addresses for the same caller: both say
// so, and what differs. Two that agree say nothing.
func TestServersThatDisagreeSaySo(t *testing.T) {
	t.Parallel()
	shared := servertest.Env{"DATABASE_URL": storetest.URL(t)}
	one, same := servertest.Start(t, shared), servertest.Start(t, shared)
	if n := same.CountLogs("decides otherwise"); n != 0 || same.Metric("ratelimit_disagreeing_tables") != 0 {
		t.Errorf("a server that agrees said %d times that it does not", n)
	}
	other := servertest.Start(t, shared, servertest.Env{"TRUSTED_PROXIES": "127.0.0.1,10.0.0.7"})
	warning := other.AwaitLog("another server of this database decides otherwise")
	if got := fmt.Sprint(warning["differences"]); got != "[TRUSTED_PROXIES: 10.0.0.7,127.0.0.1 here, 127.0.0.1 there]" {
		t.Errorf("the server that came last says %s", got)
	}
	if !strings.Contains(fmt.Sprint(warning["fix"]), "same build and settings") || other.Metric("ratelimit_disagreeing_tables") != 1 {
		t.Errorf("the warning is %v", warning)
	}
	for name, value := range map[string]any{"hash": warning["hash"], "other_hash": warning["other_hash"]} {
		server := map[string]*servertest.Server{"hash": other, "other_hash": one}[name]
		if server.Metric("ratelimit_table_info", fmt.Sprintf("hash=%q", value)) != 1 {
			t.Errorf("no metric has the %s %v", name, value)
		}
	}
	one.AwaitLog("another server of this database decides otherwise") // With its next announcement.
	if n := len(other.Logs("another server of this database decides otherwise")); n != 1 {
		t.Errorf("it was said %d times", n)
	}
}
