package httpapi

import (
	"errors"
	"fmt"
	"net/http"
	"time"

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
