package telemetry

import (
	"context"
	"io"
	"log/slog"
	"strings"
)

// redacted stands for a value that must not be in a log.
const redacted = "[redacted]"

// NewLogger returns a logger that writes records from level on as "json" or, for any other format, as text. Values whose
// key names a credential are replaced, and a record that is logged with a request's context carries its request_id.
func NewLogger(w io.Writer, level slog.Level, format string) *slog.Logger {
	options := &slog.HandlerOptions{Level: level, ReplaceAttr: redact}
	if format == "json" {
		return slog.New(requestIDHandler{slog.NewJSONHandler(w, options)})
	}
	return slog.New(requestIDHandler{slog.NewTextHandler(w, options)})
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

type requestIDKey struct{}

// WithRequestID returns a context whose log records carry the request's ID.
func WithRequestID(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, requestIDKey{}, id)
}

// RequestID returns the ID that WithRequestID set, or "".
func RequestID(ctx context.Context) string {
	id, _ := ctx.Value(requestIDKey{}).(string)
	return id
}

// requestIDHandler adds the request's ID to each record.
type requestIDHandler struct {
	slog.Handler
}

// Handle adds the ID to the record itself, behind its own attributes.
func (h requestIDHandler) Handle(ctx context.Context, record slog.Record) error {
	if id := RequestID(ctx); id != "" {
		record.AddAttrs(slog.String("request_id", id))
	}
	return h.Handler.Handle(ctx, record)
}

// WithAttrs keeps the wrapping.
func (h requestIDHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return requestIDHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup keeps the wrapping. Within a group the ID is in the group too, as slog has it for all of a record.
func (h requestIDHandler) WithGroup(name string) slog.Handler {
	return requestIDHandler{h.Handler.WithGroup(name)}
}
