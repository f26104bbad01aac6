package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/gatehouse/api"
)

// maxBody is the most bytes of a request body. A task with 10 000 four-byte characters of notes fits, if they
// are not written as escapes.
const maxBody = 64 << 10

// boundBody gives every request body a time by which it must have arrived, whoever reads it: net/http reads what a
// handler left unread before it answers, so a body that trickles would hold even the connection of a refused caller.
func (s *Server) boundBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Body == nil || r.Body == http.NoBody {
			next.ServeHTTP(w, r)
			return
		}
		body := &timedBody{ReadCloser: r.Body, control: http.NewResponseController(w)}
		body.deadline(time.Now().Add(s.BodyTimeout))
		r.Body = body
		next.ServeHTTP(w, r)
		if !body.ended {
			body.deadline(time.Now().Add(lateBody))
		}
	})
}

// lateBody is how long the answer waits for what is left of a body that nobody read. A small one has arrived, and its
// connection can be used again; a larger or slower one costs the connection.
const lateBody = 100 * time.Millisecond

// A timedBody must arrive before a deadline, which ends with it: net/http goes on reading the connection to see whether
// the caller hangs up, and a deadline that passes there would look as if they had.
type timedBody struct {
	io.ReadCloser
	control *http.ResponseController
	ended   bool
}

// Read lifts the deadline once the body is at its end.
func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
		b.deadline(time.Time{})
	}
	return n, err //nolint:wrapcheck // io.Reader's errors are compared.
}

func (b *timedBody) deadline(at time.Time) {
	_ = b.control.SetReadDeadline(at) // A writer without deadlines, as tests use, has no slow body either.
}

// capBody bounds a body in size. One that says beforehand that it is too large is refused unread.
func (s *Server) capBody(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength > maxBody {
			w.Header().Set("Connection", "close") // The body is on its way and will not be read.
			s.fail(w, r, failure{code: api.CodePayloadTooLarge, detail: tooLarge()})
			return
		}
		if r.Body != nil {
			r.Body = http.MaxBytesReader(w, r.Body, maxBody)
		}
		next.ServeHTTP(w, r)
	})
}

func tooLarge() string { return fmt.Sprintf("The request body is larger than %d bytes.", maxBody) }

// A body of the contract knows its own rules.
type body interface{ Validate() []api.FieldError }

// decode reads a JSON body into a value and checks its rules; every broken rule is reported at once.
func decode[T body](c *call) (T, error) {
	value, err := readJSON[T](c)
	if err != nil {
		return value, err
	}
	return value, invalid(value.Validate())
}

// readJSON reads a JSON body into a value, whose rules are the caller's to check.
func readJSON[T body](c *call) (T, error) {
	var value T
	if err := checkContentType(c.request()); err != nil {
		return value, err
	}
	data, err := io.ReadAll(c.request().Body)
	if err != nil {
		return value, bodyFailure(err)
	}
	err = decodeJSON(data, &value)
	return value, err
}

func bodyFailure(err error) error {
	f := failureOf(err)
	switch f.code {
	case api.CodePayloadTooLarge:
		f.detail = tooLarge()
	case api.CodeInternal: // The connection broke, or the framing was malformed: the caller's doing.
		f = failure{code: api.CodeBadRequest, detail: "The request body could not be read to its end.", cause: err}
	default: // It says enough by itself.
	}
	return f
}

func checkContentType(r *http.Request) error {
	accepted := []string{"application/json"}
	if r.Method == http.MethodPatch {
		accepted = append(accepted, "application/merge-patch+json")
	}
	return checkKind(r.Header, accepted...)
}

// checkKind refuses a body of another media type, and one that its headers say must be decoded before it can be read: taken
// as it stands, it would be read as something else than it is. A form's charset means nothing: what is not ASCII in it is
// escaped, and issuers send what their libraries do.
func checkKind(header http.Header, accepted ...string) error {
	var detail string
	kind, params, err := mime.ParseMediaType(header.Get("Content-Type"))
	switch charset, isSet := params["charset"]; {
	case err != nil || !slices.Contains(accepted, kind):
		detail = fmt.Sprintf("Send the body with Content-Type: %s.", strings.Join(accepted, " or "))
	case isSet && kind != isForm && !isUTF8(charset):
		detail = "Send the body in UTF-8, with charset=utf-8 or without a charset."
	case !isIdentity(header.Values("Content-Encoding")):
		detail = "Send the body as it is, without a Content-Encoding."
	default:
		return nil
	}
	return failure{code: api.CodeUnsupportedMediaType, detail: detail}
}

// isUTF8 takes its other spelling too, and what is a part of it.
func isUTF8(charset string) bool {
	return slices.Contains([]string{"utf-8", "utf8", "us-ascii"}, strings.ToLower(charset))
}

func isIdentity(encodings []string) bool {
	for _, encoding := range encodings {
		if encoding != "" && !strings.EqualFold(encoding, "identity") {
			return false
		}
	}
	return true
}

// isForm is the media type of the one form that is taken, the issuer's.
const isForm = "application/x-www-form-urlencoded"

// formField reads the one field of a form that counts. Others are the other protocol's own.
func (c *call) formField(name string) (string, error) {
	if err := checkKind(c.request().Header, isForm); err != nil {
		return "", err
	}
	data, err := io.ReadAll(c.request().Body)
	if err != nil {
		return "", bodyFailure(err)
	}
	values, err := url.ParseQuery(string(data))
	if err != nil || len(values[name]) != 1 {
		return "", badRequest("The form must hold " + name + " once.")
	}
	return values.Get(name), nil
}

// decodeJSON is strict: one object, no unknown fields, nothing behind it.
func decodeJSON(data []byte, into any) error {
	data = bytes.TrimSpace(data)
	switch {
	case len(data) == 0:
		return malformed("", "the body is empty; send a JSON object")
	case !utf8.Valid(data):
		return malformed("", "the body is not UTF-8")
	case data[0] != '{':
		return malformed("", "the body must be a JSON object")
	}
	if err := checkKeys(data, into); err != nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return jsonFailure(err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return malformed("", fmt.Sprintf("something follows the object at byte %d", dec.InputOffset()))
	}
	return nil
}

// checkKeys is for what encoding/json lets pass: a key in other letters, and a key twice, of which it takes the last. The
// bodies of the contract are flat, so the outermost keys are all.
func checkKeys(data []byte, into any) error {
	known := map[string]bool{}
	for field := range reflect.TypeOf(into).Elem().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		known[name] = true
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	if _, err := dec.Token(); err != nil {
		return jsonFailure(err)
	}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return jsonFailure(err)
		}
		name, _ := key.(string)
		fresh, isKnown := known[name]
		switch {
		case !isKnown:
			return malformed(name, "is no field of this body")
		case !fresh:
			return malformed(name, "is given twice")
		}
		known[name] = false
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return jsonFailure(err)
		}
	}
	return nil
}

// jsonFailure words a decoding error and names its field where there is one.
func jsonFailure(err error) error {
	var syntax *json.SyntaxError
	var wrongType *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return malformed("", fmt.Sprintf("malformed JSON at byte %d: %v", syntax.Offset, syntax))
	case errors.As(err, &wrongType):
		return malformed(wrongType.Field, "must be "+typeName(wrongType))
	case errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("", "the JSON ends too early")
	}
	if name, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		return malformed(strings.Trim(name, `"`), "is no field of this body")
	}
	return malformed("", err.Error())
}

func typeName(e *json.UnmarshalTypeError) string {
	if e.Type.Name() == "Time" {
		return `a time such as "2026-01-31T17:00:00Z" (RFC 3339)`
	}
	switch e.Type.Kind().String() {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice":
		return "an array"
	case "struct", "map":
		return "an object"
	}
	return "a number"
}

func malformed(field, message string) error {
	return failure{
		code:   api.CodeInvalidJSON,
		detail: strings.TrimSpace(field + " " + message + "."),
		fields: []api.FieldError{{Field: field, Message: message}},
	}
}
