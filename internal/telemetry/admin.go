package telemetry

import (
	"net/http"
	"net/http/pprof"
)

// AdminHandler serves what is for operators alone and has no authentication of its own: /metrics and /debug/pprof/.
// It belongs on a private address.
func AdminHandler(m *Metrics) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", m.Handler())
	mux.HandleFunc("/debug/pprof/", pprof.Index) // and the named profiles below it
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}
