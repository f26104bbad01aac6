package httpapi

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/store"
)

// errAnswered ends a request's way before its handler: the answer has been written.
var errAnswered = errors.New("answered")

// replay answers a request that was answered before, and claims the key of one that is new. What it lets pass keeps the
// claim until its answer is kept or it has come to nothing; see release.
func (s *Server) replay(c *call) error {
	if !c.row.TakesKey {
		return nil
	}
	text, err := idempotencyKey(c.request().Header)
	if text == "" || err != nil {
		return err
	}
	sum, err := fingerprint(c.request())
	if err != nil {
		return err
	}
	key := store.Key{UserID: c.caller.UserID, Route: c.row.ID, Text: text, Fingerprint: sum, KeepFor: api.IdempotencyFor}
	claim, kept, err := s.claimKey(c.context(), key)
	if err != nil {
		return fmt.Errorf("claim idempotency key: %w", err)
	}
	if kept != nil {
		c.writer().Header().Set(api.HeaderIdempotencyReplayed, "true")
		c.write(*kept)
		return errAnswered
	}
	c.claim = claim
	return nil
}

// idempotencyKey reads the header; "" is none.
func idempotencyKey(h http.Header) (string, error) {
	values := h.Values(api.HeaderIdempotencyKey)
	switch {
	case len(values) == 0:
		return "", nil
	case len(values) > 1:
		return "", badRequest("Idempotency-Key is given twice: send one for each request.")
	case !api.IsIdempotencyKey(values[0]):
		return "", badRequest(fmt.Sprintf("Idempotency-Key must be 1 to %d printable ASCII characters, such as a UUID.", api.MaxIdempotencyKey))
	}
	return values[0], nil
}

// fingerprint hashes all that makes two requests the same: method, path, query, content type, body. It reads the body,
// as far as it may be long, and puts it back.
func fingerprint(r *http.Request) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, bodyFailure(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	hash := sha256.New()
	for _, part := range []string{r.Method, r.URL.Path, r.URL.RawQuery, r.Header.Get("Content-Type"), string(body)} {
		_ = binary.Write(hash, binary.BigEndian, uint64(len(part))) // A hash takes everything.
		_, _ = io.WriteString(hash, part)
	}
	return hash.Sum(nil), nil
}

// atWorkWaits are how long a request waits for the one that has its key, look by look: most are done by the first.
func atWorkWaits() []time.Duration {
	return []time.Duration{50 * time.Millisecond, 150 * time.Millisecond, 300 * time.Millisecond, 500 * time.Millisecond}
}

func (s *Server) claimKey(ctx context.Context, key store.Key) (*store.Claim, *store.Answer, error) {
	for _, wait := range atWorkWaits() {
		claim, kept, err := s.Store.ClaimKey(ctx, key)
		if !errors.Is(err, store.ErrKeyAtWork) {
			return claim, kept, err
		}
		select {
		case <-ctx.Done():
			return nil, nil, err
		case <-time.After(wait):
		}
	}
	return s.Store.ClaimKey(ctx, key)
}

// keyReused and keyAtWork are the two answers to a key that is taken.
func keyReused(cause error) failure {
	return failure{
		code: api.CodeIdempotencyKeyReused, cause: cause,
		detail: "Another request was sent with this Idempotency-Key within 24 hours: use a new key for a new request.",
	}
}

func keyAtWork(cause error) failure {
	return failure{
		code: api.CodeConflict, cause: cause, wait: api.IdempotencyRetryAfter,
		detail: "The same request is being answered: send it again in a moment to get its answer.",
	}
}

// keep has the store keep the answer with the write, if the request has a claim.
func keep[T any](c *call, answer func(T) (store.Answer, error)) *store.Keep[T] {
	if c.claim == nil {
		return nil
	}
	return &store.Keep[T]{Claim: c.claim, Answer: answer}
}

// reply answers with a success. If it was not kept with a write it is kept now: the work is done, so a store that fails
// here costs the caller nothing but the replay.
func (s *Server) reply(c *call, a store.Answer, err error) error {
	if err != nil {
		return err
	}
	if c.claim != nil {
		c.note(s.Store.KeepAnswer(context.WithoutCancel(c.context()), c.claim, a))
	}
	c.write(a)
	return nil
}

// release lets go of the key of a request that was refused or has failed: it may be sent again and is done then.
func (s *Server) release(c *call) {
	if c.claim == nil {
		return
	}
	c.note(s.Store.ReleaseKey(context.WithoutCancel(c.context()), c.claim)) // Where that fails the claim ends by itself.
}

// jsonAnswer is a success with a body of the contract.
func jsonAnswer(status int, location string, body any) (store.Answer, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return store.Answer{}, fmt.Errorf("encode answer: %w", err)
	}
	return store.Answer{Status: status, Location: location, ContentType: "application/json", Body: data}, nil
}

func (c *call) write(a store.Answer) {
	if a.Location != "" {
		c.gin.Header("Location", a.Location)
	}
	c.gin.Data(a.Status, a.ContentType, a.Body)
}
