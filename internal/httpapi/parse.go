package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"
	"unicode/utf8"

	"example.com/gatehouse/api"
	"example.com/gatehouse/internal/parse"
)

// tasksParse turns free text into drafts. It saves nothing. Once a model was reached the call has cost money, so
// whatever happens then, its budgets are kept.
func (s *Server) tasksParse(c *call) error {
	request, err := parseRequest(c)
	if err != nil {
		s.settleTokens(c, parse.Result{})
		return err
	}
	c.keep = true // Until it is known that no model was reached: a panic must not give back what was paid for.
	result, err := s.Parser.Parse(c.context(), request)
	c.keep = result.Reached
	c.note(result.Fault)
	s.settleTokens(c, result)
	if errors.Is(err, parse.ErrUpstream) {
		return failure{code: api.CodeUpstreamFailed, cause: err}
	}
	if err != nil {
		return fmt.Errorf("parse text: %w", err)
	}
	answer, err := jsonAnswer(http.StatusOK, "", parseBody(result))
	return s.reply(c, answer, err)
}

func parseRequest(c *call) (parse.Request, error) {
	in, err := decode[api.ParseRequest](c)
	if err != nil {
		return parse.Request{}, err
	}
	zone, err := in.Location()
	if err != nil { // Validated before.
		return parse.Request{}, fmt.Errorf("load time zone: %w", err)
	}
	return parse.Request{Text: in.Text, Location: zone, Now: time.Now()}, nil
}

func parseBody(result parse.Result) api.ParseResult {
	body := api.ParseResult{Parser: result.Parser, Drafts: make([]api.Draft, 0, len(result.Drafts))}
	for _, d := range result.Drafts {
		draft := api.Draft{
			Title: d.Title, Notes: d.Notes, DueAt: api.NewTimePtr(d.DueAt), Priority: api.Priority(d.Priority),
			Tags: append([]string{}, d.Tags...), Spans: make([]api.Span, 0, len(d.Spans)),
		}
		for _, span := range d.Spans {
			draft.Spans = append(draft.Spans, api.Span{Start: span.Start, End: span.End, Kind: span.Kind})
		}
		body.Drafts = append(body.Drafts, draft)
	}
	return body
}

// TokenMeter says what a call of the parser's model may use.
func TokenMeter(parser parse.Parser) Meter {
	return func(r *http.Request) int64 { return parser.Bound(promptBytes(r.ContentLength)) }
}

// maxPrompt is the most bytes that a valid text and its time zone can have: no character takes more than four bytes of JSON
// once it is cleaned, and no zone has a name of more than 64.
const maxPrompt = utf8.UTFMax*api.MaxText + 64

// promptBytes is the most that a body of that length can hold of text and time zone; below 0 stands for an unknown one.
func promptBytes(length int64) int64 {
	if length < 0 {
		return maxPrompt
	}
	return min(length, maxPrompt)
}

// settleTokens settles what was reserved of the tokens to what the model said that it used. Where it may have worked and
// said nothing, all is kept; where it was not asked, nothing is. The headers tell what is left after it.
func (s *Server) settleTokens(c *call, result parse.Result) {
	used := result.Usage.Total()
	if result.Reached && used == 0 {
		return
	}
	s.Limiter.Settle(c.context(), c.budgets, api.BudgetTokens, used)
	setQuotaHeaders(c.writer().Header(), &c.edge, &c.budgets)
}
