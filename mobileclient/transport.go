package mobileclient

import (
	"context"
	"io"
	"net/http"
	"net/http/httptrace"

	"example.com/gatehouse/api"
)

// A transport watches what leaves. It sits below net/http's client, so that redirects are seen, and listens to what
// happens below itself, so that replays are.
type transport struct{ base http.RoundTripper }

// RoundTrip sends a request that holds a ticket and settles the ticket, also if the base panics.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	ticket, err := ticketOf(req.Context()).depart(req.Context())
	if err != nil {
		closeBody(req)
		return nil, err
	}
	_, traced := t.base.(*http.Transport)
	defer ticket.failed(traced) // Nothing is left to do where an answer came.
	resp, err := t.base.RoundTrip(once(req.WithContext(ticket.watch(req.Context()))))
	if err != nil {
		return nil, err
	}
	ticket.answered(resp)
	return resp, nil
}

// CloseIdleConnections passes on what http.Client asks of its transport.
func (t *transport) CloseIdleConnections() {
	if base, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

// watch tells the ticket what net/http does with its request.
func (t *ticket) watch(ctx context.Context) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn:      func(string) { t.noteAsked() },
		GotConn:      func(httptrace.GotConnInfo) { t.noteConnected() },
		WroteHeaders: t.noteWritten,
	})
}

// once keeps net/http from sending a request again by itself after a connection broke: nobody would have asked the
// mirror. The client sends such calls again, if the mirror lets it. By net/http's documentation what it may repeat is a
// request that is idempotent, by its method or because it has an Idempotency-Key, and has no body or has GetBody.
func once(req *http.Request) *http.Request {
	if req.Method != http.MethodGet && req.Header.Get(api.HeaderIdempotencyKey) == "" {
		return req
	}
	req.GetBody = nil
	if req.Body == nil {
		req.Body = empty{}
	}
	return req
}

// empty is a body of nothing that net/http does not know to be one.
type empty struct{}

func (empty) Read([]byte) (int, error) { return 0, io.EOF }
func (empty) Close() error             { return nil }

// closeBody does what a RoundTripper owes its caller also when it sends nothing.
func closeBody(req *http.Request) {
	if req.Body != nil {
		_ = req.Body.Close()
	}
}
