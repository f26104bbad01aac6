package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// What a caller can act on. Each is wrapped together with its cause, so errors.Is finds both.
var (
	// ErrNotFound: there is no such row, or not in this organisation, or it has expired.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the row, as it was to be, contradicts one that exists or a rule of the schema.
	ErrConflict = errors.New("conflict")
	// ErrKeyAtWork: the same request, by its idempotency key, is at work.
	ErrKeyAtWork = errors.New("request with this idempotency key is at work")
	// ErrKeyReused: the idempotency key is another request's.
	ErrKeyReused = errors.New("idempotency key belongs to another request")
	// ErrInvalidText: a text holds what the database cannot: a NUL character, or bytes that are not UTF-8.
	ErrInvalidText = errors.New("text holds a NUL character or is not UTF-8")
	// ErrUnavailable: the database cannot be reached, is shutting down or took too long. Trying again may help.
	ErrUnavailable = errors.New("database unavailable")
)

// fault says what was being done and which of the errors above it is, if one.
func fault(doing string, err error) error {
	if err == nil {
		return nil
	}
	kind := kindOf(err)
	if kind == nil || errors.Is(err, kind) {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return fmt.Errorf("%s: %w: %w", doing, kind, err)
}

func kindOf(err error) error {
	// A caller who hung up says nothing about the database.
	if errors.Is(err, context.Canceled) {
		return nil
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return ErrNotFound
	}
	if unreachable(err) {
		return ErrUnavailable
	}
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return kindOfState(refused.Code)
	}
	return nil
}

// unreachable is true of faults on the way to the database. Being refused at the door (a wrong password, a missing
// database) is one too: no call can succeed until somebody has mended it.
func unreachable(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	for _, cause := range []error{context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed} {
		if errors.Is(err, cause) {
			return true
		}
	}
	return false
}

// Refusal says why the database, which answers, lets nobody in; empty for every other fault. Trying again helps only once
// somebody has mended the URL or the database.
func Refusal(err error) string {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return ""
	}
	switch refused.Code {
	case "28P01": // invalid_password, which PostgreSQL says of an unknown user too
		return "the password is wrong, or there is no such user"
	case "28000": // invalid_authorization_specification
		return "there is no such user, or it may not log in from here (pg_hba.conf)"
	case "3D000": // invalid_catalog_name
		return "there is no such database"
	}
	return ""
}

// kindOfState reads an SQLSTATE (PostgreSQL manual, appendix A).
func kindOfState(code string) error {
	switch code {
	case "23503": // foreign_key_violation: what the row refers to is gone.
		return ErrNotFound
	case "23505", "23514": // unique_violation, check_violation
		return ErrConflict
	case "22021": // character_not_in_repertoire
		return ErrInvalidText
	case "57014", "55P03", "40001", "40P01", "25006":
		// Its time was up; it waited too long for a lock; it clashed with another; it deadlocked; and what a replica answers
		// to a write while a failover is under way.
		return ErrUnavailable
	}
	for _, class := range []string{"08", "53", "57P"} { // connection exceptions, insufficient resources, shutting down
		if strings.HasPrefix(code, class) {
			return ErrUnavailable
		}
	}
	return nil
}
