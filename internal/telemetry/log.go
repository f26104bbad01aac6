package telemetry

import (
	"context"
	"io"
	"log/slog"
	"strings"

	"go.opentelemetry.io/otel/trace"
)

// redacted stands for a value that must not be in a log.
const redacted = "[redacted]"

// NewLogger returns a logger that writes records from level on as "json" or, for any other format, as text. Values whose
// key names a credential are replaced. A record that is logged with a request's context carries its request_id, which
// requestID, if not nil, finds there ("" for none), and the IDs of its trace and span, if it has them.
func NewLogger(w io.Writer, level slog.Level, format string, requestID func(context.Context) string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	if format == "json" {
		return slog.New(contextHandler{slog.NewJSONHandler(w, options), requestID})
	}
	return slog.New(contextHandler{slog.NewTextHandler(w, options), requestID})
}

// redact is the last line of defence: code should not log credentials in the first place.
func redact(_ []string, attr slog.Attr) slog.Attr {
	if namesCredential(attr.Key) || isBearer(attr.Value) {
		return slog.String(attr.Key, redacted)
	}
	return attr
}

// namesCredential reports whether a key ends in the name of something secret, however it is spelled: "clientSecret",
// "client_secret" and "Client-Secret" do, "tokens" and "tokenId" do not.
func namesCredential(key string) bool {
	name := strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(key))
	for _, ending := range []string{"password", "secret", "token", "authorization", "cookie", "apikey", "credential"} {
		if strings.HasSuffix(name, ending) {
			return true
		}
	}
	return false
}

// isBearer reports whether a text is the value of an Authorization header.
func isBearer(value slog.Value) bool {
	const scheme = "bearer "
	if value.Kind() != slog.KindString {
		return false
	}
	text := value.String()
	return len(text) > len(scheme) && strings.EqualFold(text[:len(scheme)], scheme)
}

// contextHandler adds to each record what its context knows.
type contextHandler struct {
	slog.Handler
	requestID func(context.Context) string
}

// Handle adds the IDs to the record itself, behind its own attributes.
func (h contextHandler) Handle(ctx context.Context, record slog.Record) error {
	if h.requestID != nil {
		if id := h.requestID(ctx); id != "" {
			record.AddAttrs(slog.String("request_id", id))
		}
	}
	if span := trace.SpanContextFromContext(ctx); span.IsValid() {
		record.AddAttrs(slog.String("trace_id", span.TraceID().String()), slog.String("span_id", span.SpanID().String()))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs keeps the wrapping.
func (h contextHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return contextHandler{h.Handler.WithAttrs(attrs), h.requestID}
}

// WithGroup keeps the wrapping. Within a group the IDs are in the group too, as slog has it for all of a record.
func (h contextHandler) WithGroup(name string) slog.Handler {
	return contextHandler{h.Handler.WithGroup(name), h.requestID}
}
