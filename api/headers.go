package api

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// The names of the headers that the contract uses beyond the usual ones.
const (
	HeaderRateLimitPolicy = "RateLimit-Policy"
	HeaderRateLimit       = "RateLimit"
	HeaderRetryAfter      = "Retry-After"
	HeaderXRetryAfter     = "X-Retry-After"
	HeaderRequestID       = "X-Request-ID"

	HeaderIdempotencyKey      = "Idempotency-Key"
	HeaderIdempotencyReplayed = "Idempotency-Replayed"
)

// ExposedHeaders are the response headers that CORS lets a page of another origin read.
func ExposedHeaders() []string {
	return []string{
		HeaderRateLimitPolicy, HeaderRateLimit, HeaderRetryAfter, HeaderXRetryAfter, HeaderRequestID, HeaderIdempotencyReplayed,
		"Location", "WWW-Authenticate",
	}
}

// A Policy is one item of RateLimit-Policy: Quota units in any Window.
type Policy struct {
	Name   string
	Quota  int64
	Window time.Duration
}

// A Service is one item of RateLimit: what is left of a policy, and when more comes.
type Service struct {
	Name string
	// Remaining is the units left.
	Remaining int64
	// Reset is the time until more is left, in whole seconds; HasReset is false where the header does not say.
	Reset    time.Duration
	HasReset bool
}

// Quotas is what the rate-limit headers of one response say. The two lists are joined by name.
type Quotas struct {
	Policies []Policy
	Services []Service
}

// maxItems bounds what is read of one header, so that a hostile server costs a client little.
const maxItems = 64

// FormatPolicies renders RateLimit-Policy, such as `"user";q=100;w=60`, in the order given. Windows are rounded up to whole seconds.
func FormatPolicies(policies []Policy) string {
	var list []byte
	for _, p := range policies {
		list = p.Append(list)
	}
	return string(list)
}

// FormatServices renders RateLimit, such as `"user";r=88;t=2`, in the order given. Resets are rounded up to whole seconds.
func FormatServices(services []Service) string {
	var list []byte
	for _, s := range services {
		list = s.Append(list)
	}
	return string(list)
}

// Append adds the item to a list that FormatPolicies would render.
func (p Policy) Append(list []byte) []byte {
	list = appendName(list, p.Name)
	list = strconv.AppendInt(append(list, ";q="...), p.Quota, 10)
	if p.Window > 0 {
		list = strconv.AppendInt(append(list, ";w="...), CeilSeconds(p.Window), 10)
	}
	return list
}

// Append adds the item to a list that FormatServices would render.
func (s Service) Append(list []byte) []byte {
	list = appendName(list, s.Name)
	list = strconv.AppendInt(append(list, ";r="...), s.Remaining, 10)
	if s.HasReset {
		list = strconv.AppendInt(append(list, ";t="...), CeilSeconds(s.Reset), 10)
	}
	return list
}

func appendName(list []byte, name string) []byte {
	if len(list) > 0 {
		list = append(list, ", "...)
	}
	list = append(list, '"')
	for _, c := range []byte(name) {
		if c == '"' || c == '\\' {
			list = append(list, '\\')
		}
		if c >= 0x20 && c < 0x7f {
			list = append(list, c)
		}
	}
	return append(list, '"')
}

// ParseQuotas reads the rate-limit headers of a response: the draft's present spelling, its dictionary form
// (limit=, remaining=, reset=), and the three-header form with and without "X-". A header that is malformed, or holds
// a negative number, is ignored as a whole: what a client does not understand must not steer it.
func ParseQuotas(h http.Header) Quotas {
	q := Quotas{
		Policies: parsePolicies(h.Values(HeaderRateLimitPolicy)),
		Services: parseServices(h.Values(HeaderRateLimit)),
	}
	if len(q.Services) > 0 {
		return q
	}
	if policy, service, ok := parseDictionary(h.Values(HeaderRateLimit)); ok {
		return q.with(policy, service)
	}
	for _, prefix := range []string{"RateLimit-", "X-RateLimit-"} {
		if policy, service, ok := parseTriple(h, prefix); ok {
			return q.with(policy, service)
		}
	}
	return q
}

// with adds the one unnamed quota of an older spelling. Its window comes from the policy header, which such servers send as `100;w=60`.
func (q Quotas) with(p Policy, s Service) Quotas {
	for _, known := range q.Policies {
		if known.Quota == p.Quota {
			s.Name = known.Name
			return Quotas{Policies: []Policy{known}, Services: []Service{s}}
		}
	}
	return Quotas{Policies: []Policy{p}, Services: []Service{s}}
}

func parsePolicies(lines []string) []Policy {
	items, err := parseList(lines)
	if err != nil {
		return nil
	}
	policies := make([]Policy, 0, len(items))
	for _, item := range items {
		policy, ok := item.policy()
		if !ok {
			return nil
		}
		policies = append(policies, policy)
	}
	return policies
}

func (i sfItem) policy() (Policy, bool) {
	quota, ok := i.params["q"]
	if !ok && i.isInteger {
		quota, ok = i.integer, true // `100;w=60`: the quota itself was the item.
	}
	window := i.params["w"]
	if !ok || quota < 0 || window < 0 || window > maxSeconds {
		return Policy{}, false
	}
	return Policy{Name: i.name, Quota: quota, Window: time.Duration(window) * time.Second}, true
}

func parseServices(lines []string) []Service {
	items, err := parseList(lines)
	if err != nil {
		return nil
	}
	services := make([]Service, 0, len(items))
	for _, item := range items {
		service, ok := item.service()
		if !ok {
			return nil
		}
		services = append(services, service)
	}
	return services
}

func (i sfItem) service() (Service, bool) {
	remaining, ok := i.params["r"]
	reset, hasReset := i.params["t"]
	if !ok || remaining < 0 || reset < 0 || reset > maxSeconds {
		return Service{}, false
	}
	return Service{Name: i.name, Remaining: remaining, Reset: time.Duration(reset) * time.Second, HasReset: hasReset}, true
}

// maxSeconds bounds a window or reset to what a time.Duration holds; it is far beyond any sensible one.
const maxSeconds = 1 << 33

// parseDictionary reads `limit=100, remaining=42, reset=13`.
func parseDictionary(lines []string) (Policy, Service, bool) {
	values := map[string]int64{}
	for member := range strings.SplitSeq(strings.Join(lines, ","), ",") {
		key, text, found := strings.Cut(strings.TrimSpace(member), "=")
		value, err := parseInteger(text)
		if !found || err != nil {
			return Policy{}, Service{}, false
		}
		values[key] = value
	}
	limit, hasLimit := values["limit"]
	remaining, hasRemaining := values["remaining"]
	reset, hasReset := values["reset"]
	if !hasLimit || !hasRemaining {
		return Policy{}, Service{}, false
	}
	return oldQuota(limit, remaining, reset, hasReset)
}

// parseTriple reads RateLimit-Limit, RateLimit-Remaining and RateLimit-Reset, or the same with a prefix.
func parseTriple(h http.Header, prefix string) (Policy, Service, bool) {
	first, _, _ := strings.Cut(h.Get(prefix+"Limit"), ",")
	first, _, _ = strings.Cut(first, ";")
	limit, err := parseInteger(strings.TrimSpace(first))
	remaining, err2 := parseInteger(strings.TrimSpace(h.Get(prefix + "Remaining")))
	if err != nil || err2 != nil {
		return Policy{}, Service{}, false
	}
	reset, err := parseInteger(strings.TrimSpace(h.Get(prefix + "Reset")))
	return oldQuota(limit, remaining, reset, err == nil)
}

// oldQuota takes a reset of over a day for what it is in many servers, a point in time: those need a clock that agrees
// with the server's, so it is left out.
func oldQuota(limit, remaining, reset int64, hasReset bool) (Policy, Service, bool) {
	const day = 86_400
	if limit < 0 || remaining < 0 || reset < 0 {
		return Policy{}, Service{}, false
	}
	hasReset = hasReset && reset <= day
	if !hasReset {
		reset = 0
	}
	return Policy{Quota: limit}, Service{Remaining: remaining, Reset: time.Duration(reset) * time.Second, HasReset: hasReset}, true
}

// An sfItem is one member of a structured-field list (RFC 9651): a string, token or integer with integer parameters.
// Parameters of other types are read and dropped.
type sfItem struct {
	name      string
	integer   int64
	isInteger bool
	params    map[string]int64
}

var (
	errSyntax = errors.New("not a structured-field list of strings, tokens or integers")
	errLength = errors.New("too many items")
)

func parseList(lines []string) ([]sfItem, error) {
	s := sfScanner{rest: strings.Trim(strings.Join(lines, ","), " \t")}
	var items []sfItem
	for s.rest != "" {
		item, err := s.item()
		if err != nil {
			return nil, err
		}
		if items = append(items, item); len(items) > maxItems {
			return nil, errLength
		}
		if err := s.comma(); err != nil {
			return nil, err
		}
	}
	return items, nil
}

type sfScanner struct{ rest string }

// comma takes the separator after an item; a list may not end with one.
func (s *sfScanner) comma() error {
	s.rest = strings.TrimLeft(s.rest, " \t")
	if s.rest == "" {
		return nil
	}
	if s.rest[0] != ',' {
		return errSyntax
	}
	if s.rest = strings.TrimLeft(s.rest[1:], " \t"); s.rest == "" {
		return errSyntax
	}
	return nil
}

func (s *sfScanner) item() (sfItem, error) {
	value, err := s.bare()
	if err != nil {
		return sfItem{}, err
	}
	item := sfItem{name: value.text, integer: value.integer, isInteger: value.isInteger, params: map[string]int64{}}
	for strings.HasPrefix(s.rest, ";") {
		s.rest = strings.TrimLeft(s.rest[1:], " ")
		if err := s.param(item.params); err != nil {
			return sfItem{}, err
		}
		if len(item.params) > maxItems {
			return sfItem{}, errLength
		}
	}
	return item, nil
}

func (s *sfScanner) param(into map[string]int64) error {
	key := s.while(isKeyChar)
	if key == "" || key[0] >= '0' && key[0] <= '9' {
		return errSyntax
	}
	if !strings.HasPrefix(s.rest, "=") {
		return nil // A bare key is true.
	}
	s.rest = s.rest[1:]
	value, err := s.bare()
	if err != nil {
		return err
	}
	if value.isInteger {
		into[key] = value.integer
	}
	return nil
}

type sfValue struct {
	text      string
	integer   int64
	isInteger bool
}

func (s *sfScanner) bare() (sfValue, error) {
	if s.rest == "" {
		return sfValue{}, errSyntax
	}
	switch c := s.rest[0]; {
	case c == '"':
		text, err := s.quoted()
		return sfValue{text: text}, err
	case c == ':':
		return s.bytes()
	case c == '-' || c >= '0' && c <= '9':
		return s.number()
	case c == '*' || isAlpha(c):
		return sfValue{text: s.while(isTokenChar)}, nil
	case c == '?' && len(s.rest) > 1 && (s.rest[1] == '0' || s.rest[1] == '1'):
		s.rest = s.rest[2:]
		return sfValue{}, nil
	}
	return sfValue{}, errSyntax
}

func (s *sfScanner) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(s.rest); i++ {
		c := s.rest[i]
		if c == '"' {
			s.rest = s.rest[i+1:]
			return b.String(), nil
		}
		if c == '\\' {
			if i++; i == len(s.rest) || s.rest[i] != '"' && s.rest[i] != '\\' {
				return "", errSyntax
			}
			c = s.rest[i]
		}
		if c < 0x20 || c >= 0x7f {
			return "", errSyntax
		}
		b.WriteByte(c)
	}
	return "", errSyntax
}

// bytes takes a byte sequence, which a partition key may be, and drops it.
func (s *sfScanner) bytes() (sfValue, error) {
	end := strings.IndexByte(s.rest[1:], ':')
	if end < 0 {
		return sfValue{}, errSyntax
	}
	s.rest = s.rest[end+2:]
	return sfValue{}, nil
}

func (s *sfScanner) number() (sfValue, error) {
	text := s.while(func(c byte) bool { return c == '-' || c == '.' || c >= '0' && c <= '9' })
	if strings.Contains(text, ".") {
		if _, err := strconv.ParseFloat(text, 64); err != nil {
			return sfValue{}, errSyntax
		}
		return sfValue{}, nil // A decimal is no count; as a parameter it is dropped.
	}
	n, err := parseInteger(text)
	return sfValue{integer: n, isInteger: true}, err
}

// parseInteger takes what RFC 9651 calls an integer: a sign and up to 15 digits.
func parseInteger(text string) (int64, error) {
	const maxDigits = 15
	digits := strings.TrimPrefix(text, "-")
	if digits == "" || len(digits) > maxDigits || strings.ContainsFunc(digits, func(r rune) bool { return r < '0' || r > '9' }) {
		return 0, errSyntax
	}
	return strconv.ParseInt(text, 10, 64)
}

func (s *sfScanner) while(ok func(byte) bool) string {
	i := 0
	for i < len(s.rest) && ok(s.rest[i]) {
		i++
	}
	text := s.rest[:i]
	s.rest = s.rest[i:]
	return text
}

func isAlpha(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func isKeyChar(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_-.*", c) >= 0
}

func isTokenChar(c byte) bool {
	return isAlpha(c) || c >= '0' && c <= '9' || strings.IndexByte(":/!#$%&'*+-.^_`|~", c) >= 0
}

// RetryAfterValue is the value of Retry-After and X-Retry-After for a wait: whole seconds, rounded up, at least 1.
func RetryAfterValue(wait time.Duration) string {
	return strconv.FormatInt(max(CeilSeconds(wait), 1), 10)
}
