package parse

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
)

// The defaults of ModelConfig.
const (
	defaultMaxTokens = 2000 // enough for the drafts of the longest text that the API takes
	defaultTimeout   = 15 * time.Second
)

// ModelConfig says which model to ask and how.
type ModelConfig struct {
	BaseURL    string        // of an OpenAI-compatible API, such as https://api.openai.com/v1
	APIKey     string        // may be empty for a model of one's own
	Model      string        // its name there
	HTTPClient *http.Client  // nil is http.DefaultClient; redirects are not followed in any case
	MaxTokens  int           // the longest answer, in tokens; 0 is 2 000
	Timeout    time.Duration // for the whole call; 0 is 15 s
	Fallback   *Local        // reads the text when the model's answer is of no use; nil: ErrUpstream instead
}

// Model asks an OpenAI-compatible model for the drafts, once, and believes nothing that it cannot check. When the
// answer is of no use – none in time, an HTTP error, a refusal, not the JSON asked for, values out of range – the
// fallback reads the text instead and Result.Fault says why.
type Model struct {
	completions openai.ChatCompletionService
	config      ModelConfig
	overhead    int64 // the bytes of the request that are the same for every text
}

var _ Parser = (*Model)(nil)

// NewModel returns a parser that asks a model. It does not call it: an error names a fault in the configuration.
func NewModel(config ModelConfig) (*Model, error) {
	if err := config.fault(); err != nil {
		return nil, err
	}
	if config.MaxTokens == 0 {
		config.MaxTokens = defaultMaxTokens
	}
	if config.Timeout == 0 {
		config.Timeout = defaultTimeout
	}
	m := &Model{completions: newCompletions(config), config: config}
	var err error
	if m.overhead, err = m.bytesBeside(); err != nil {
		return nil, fmt.Errorf("measure the prompt: %w", err)
	}
	return m, nil
}

// fault is the first fault of the configuration, with what to do about it.
func (c ModelConfig) fault() error {
	base, err := url.Parse(c.BaseURL)
	switch {
	case err != nil:
		return errors.New("model base URL cannot be read: write it like https://api.openai.com/v1")
	case base.Scheme != "http" && base.Scheme != "https" || base.Host == "":
		return fmt.Errorf("model base URL %q is not an absolute http(s) URL: write it like https://api.openai.com/v1", base.Redacted())
	case c.Model == "":
		return errors.New("model name is empty: set it to one that the API at the base URL offers")
	case c.MaxTokens < 0 || c.Timeout < 0:
		return errors.New("model limits are negative: leave them 0 for the defaults")
	}
	return nil
}

// newCompletions is the one part of the SDK that is needed. The SDK's own client would also read OPENAI_… variables
// from the environment, which are not this program's settings.
func newCompletions(config ModelConfig) openai.ChatCompletionService {
	options := []option.RequestOption{
		option.WithBaseURL(config.BaseURL),
		option.WithHTTPClient(guarded(config.HTTPClient)),
		option.WithMaxRetries(0), // each try costs money; the caller's budget has paid for one
	}
	if config.APIKey != "" {
		options = append(options, option.WithAPIKey(config.APIKey))
	}
	return openai.NewChatCompletionService(options...)
}

// Bound is what it costs if each byte of the prompt is a token and the answer is as long as it may be.
func (m *Model) Bound(bytes int64) int64 {
	return m.overhead + max(bytes, 0) + int64(m.config.MaxTokens)
}

// Parse asks the model. An error is that of ctx, or ErrUpstream if there is no fallback; the result says even then
// what the call cost.
func (m *Model) Parse(ctx context.Context, req Request) (Result, error) {
	req = req.settled()
	if !hasWord(req.Text) {
		return Result{Parser: LocalParser, Drafts: []Draft{}}, nil
	}
	result, err := m.ask(ctx, req)
	switch {
	case err == nil:
		return result, nil
	case ctx.Err() != nil:
		return result, fmt.Errorf("ask model: %w", ctx.Err())
	case m.config.Fallback == nil:
		return result, fmt.Errorf("ask model: %w: %w", ErrUpstream, err)
	}
	result.Parser, result.Drafts, result.Fault = LocalParser, m.config.Fallback.drafts(req), err
	return result, nil
}

// ask makes the call and checks the answer. The result says what it cost even with an error.
func (m *Model) ask(ctx context.Context, req Request) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, m.config.Timeout)
	defer cancel()
	params, err := m.params(req)
	if err != nil {
		return Result{Parser: ModelParser}, err
	}
	var reached atomic.Bool
	completion, err := m.completions.New(traced(ctx, &reached), params)
	result := Result{Parser: ModelParser, Reached: reached.Load()}
	if err != nil {
		result.Reached = mayHaveCost(err, result.Reached)
		return result, fmt.Errorf("call completions: %w", err)
	}
	result.Reached = true
	result.Usage = usageOf(completion)
	result.Drafts, err = draftsOf(completion, req)
	return result, err
}

// traced notes in reached when the request begins to leave over a connection: from then on the model may be at work,
// whatever becomes of the answer. When it has left whole is told too late to rely on: the answer can overtake that.
func traced(ctx context.Context, reached *atomic.Bool) context.Context {
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		WroteHeaders: func() { reached.Store(true) },
	})
}

// mayHaveCost reports whether the model may have worked on a call that failed. With a status of 4xx the API turned the
// request away before any model saw it: a wrong key or name, no quota.
func mayHaveCost(err error, sent bool) bool {
	if answer, ok := errors.AsType[*openai.Error](err); ok {
		return answer.StatusCode >= http.StatusInternalServerError
	}
	return sent
}

// usageOf is what the model says it used. Numbers that cannot be are left out: a budget is settled with them.
func usageOf(completion *openai.ChatCompletion) Usage {
	const most = 1 << 32 // far beyond any context window, far below an overflow of sums
	u := Usage{Prompt: completion.Usage.PromptTokens, Answer: completion.Usage.CompletionTokens}
	if min(u.Prompt, u.Answer) < 0 || max(u.Prompt, u.Answer) > most {
		return Usage{}
	}
	return u
}

// guarded is a copy of client that does not follow redirects, which would carry the text elsewhere, and reads no more
// of an answer than could be one.
func guarded(client *http.Client) *http.Client {
	if client == nil {
		client = http.DefaultClient
	}
	guarded := *client
	guarded.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	guarded.Transport = cappedTransport{client.Transport}
	return &guarded
}
