package parse

import (
	"errors"
	"io"
	"net/http"
)

// maxAnswer is the longest answer that is read, in bytes: many times the longest useful one.
const maxAnswer = 256 << 10

// errAnswerTooLong ends the reading of an answer that cannot be right any more.
var errAnswerTooLong = errors.New("the answer is longer than 256 KiB")

// cappedTransport is the transport beneath (nil: http.DefaultTransport) with every answer cut off at maxAnswer by an
// error. The SDK reads answers, errors included, whole into memory.
type cappedTransport struct {
	next http.RoundTripper
}

func (t cappedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	next := t.next
	if next == nil {
		next = http.DefaultTransport
	}
	resp, err := next.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	resp.Body = &cappedBody{ReadCloser: resp.Body, left: maxAnswer}
	return resp, nil
}

// cappedBody is a body of which at most left bytes more may be read.
type cappedBody struct {
	io.ReadCloser

	left int
}

func (b *cappedBody) Read(p []byte) (int, error) {
	if b.left < 0 {
		return 0, errAnswerTooLong
	}
	// One byte more than is left tells an answer of exactly the limit from a longer one.
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left+1)])
	b.left -= n
	if b.left < 0 {
		return n, errAnswerTooLong
	}
	return n, err
}
