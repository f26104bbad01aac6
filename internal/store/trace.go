package store

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
)

// A tracer hands pgx's tracing to Config.Trace.
type tracer struct {
	start func(context.Context, string) (context.Context, func(error))
}

// ended is the context's key of the function to call when the statement has ended.
type ended struct{}

// TraceQueryStart is called by pgx before a statement.
func (t tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	ctx, end := t.start(ctx, statementName(data.SQL))
	return context.WithValue(ctx, ended{}, end)
}

// TraceQueryEnd is called by pgx after a statement, with the context that TraceQueryStart returned.
func (t tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryEndData) {
	if end, ok := ctx.Value(ended{}).(func(error)); ok && end != nil {
		end(data.Err)
	}
}

// statementName reads the first line that sqlc puts before each statement: "-- name: Task :one".
func statementName(sql string) string {
	rest, ok := strings.CutPrefix(sql, "-- name: ")
	if !ok {
		return "statement"
	}
	name, _, _ := strings.Cut(rest, " ")
	return name
}
