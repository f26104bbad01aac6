package config

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

// A Secret never prints itself. Convert it to a string where it is used.
type Secret string

// mask is what stands for a secret, whatever its length.
const mask = "********"

// String is the mask, or empty.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return mask
}

// GoString keeps %#v from showing the secret.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps encoders, of logs among others, from showing the secret.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// A SecretURL is a URL that may hold a password or a token, which it does not print. Convert it to a string where it
// is used.
type SecretURL string

// String is the URL with its user and all but harmless query values masked, since both places hold passwords.
func (u SecretURL) String() string {
	if u == "" {
		return ""
	}
	parsed, err := url.Parse(string(u))
	if err != nil || parsed.Scheme == "" || parsed.Opaque != "" {
		return mask
	}
	if parsed.User != nil {
		parsed.User = url.User("xxxxx")
	}
	parsed.RawQuery, parsed.Fragment = maskQuery(parsed.RawQuery), ""
	return parsed.String()
}

// GoString keeps %#v from showing the password.
func (u SecretURL) GoString() string { return u.String() }

// MarshalText keeps encoders from showing the password.
func (u SecretURL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// maskQuery keeps the values of parameters that are known to be harmless and masks all others.
func maskQuery(query string) string {
	values, err := url.ParseQuery(query)
	if err != nil {
		return ""
	}
	for name := range values {
		switch name {
		case "host", "port", "dbname", "sslmode", "application_name", "connect_timeout", "db", "protocol", "addr":
		default:
			values.Set(name, "xxxxx")
		}
	}
	return values.Encode()
}

// A value is a field of the Config behind the table: how to set it from text, what it is as text, and mask text that it may
// have refused.
type value struct {
	set  func(string) error
	text func() string
	mask func(string) string
}

// field binds a row of the table to a field. An error of parse continues the sentence "NAME=value …".
func field[T any](at *T, parse func(string) (T, error)) value {
	return value{
		set: func(s string) error {
			parsed, err := parse(s)
			if err != nil {
				return err
			}
			*at = parsed
			return nil
		},
		text: func() string { return show(*at) },
		mask: func(s string) string {
			switch any(*at).(type) {
			case Secret, SecretURL:
				return mask
			default:
				return strconv.Quote(s)
			}
		},
	}
}

// show prints a value as its setting would be written.
func show(v any) string {
	switch v := v.(type) {
	case []string:
		return strings.Join(v, ",")
	case slog.Level:
		return strings.ToLower(v.String())
	default:
		return fmt.Sprint(v)
	}
}

func text(s string) (string, error) { return s, nil }

func secret(s string) (Secret, error) { return Secret(s), nil }

func boolean(s string) (bool, error) {
	b, err := strconv.ParseBool(s)
	if err != nil {
		return false, errors.New("is neither true nor false: set one of them")
	}
	return b, nil
}

func number(low, high int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < low || n > high {
			return 0, fmt.Errorf("is not a whole number from %d to %d: set one", low, high)
		}
		return n, nil
	}
}

// duration reads a span above zero.
func duration(s string) (time.Duration, error) {
	d, err := wait(s)
	if err != nil || d == 0 {
		return 0, errors.New("is not a duration above zero: write it as 90s, 30m or 24h")
	}
	return d, nil
}

// wait reads a span that may be zero.
func wait(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil || d < 0 {
		return 0, errors.New("is not a duration: write it as 0s, 90s or 30m")
	}
	return d, nil
}

// waitUpTo reads a span from zero to most.
func waitUpTo(most time.Duration) func(string) (time.Duration, error) {
	return func(s string) (time.Duration, error) {
		d, err := wait(s)
		if err == nil && d > most {
			err = fmt.Errorf("is above %v: set less", most)
		}
		return d, err
	}
}

func logLevel(s string) (slog.Level, error) {
	levels := []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}
	for _, level := range levels {
		if strings.EqualFold(s, level.String()) {
			return level, nil
		}
	}
	return 0, errors.New("is not a level: set debug, info, warn or error")
}

func oneOf[T ~string](allowed ...T) func(string) (T, error) {
	return func(s string) (T, error) {
		names := make([]string, 0, len(allowed))
		for _, a := range allowed {
			if s == string(a) {
				return a, nil
			}
			names = append(names, string(a))
		}
		return "", fmt.Errorf("is unknown: set %s, or leave it empty for the default", strings.Join(names, " or "))
	}
}

// list reads values separated by commas or spaces, and names each one that is wrong.
func list(parse func(string) (string, error)) func(string) ([]string, error) {
	return func(s string) ([]string, error) {
		var values []string
		for _, entry := range strings.FieldsFunc(s, func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
			v, err := parse(entry)
			if err != nil {
				return nil, fmt.Errorf("has the entry %q, which %w", entry, err)
			}
			values = append(values, v)
		}
		return values, nil
	}
}

// addressRange checks what internal/clientip reads later, so that a fault shows among all others.
func addressRange(s string) (string, error) {
	_, addrErr := netip.ParseAddr(s)
	_, rangeErr := netip.ParsePrefix(s)
	if addrErr != nil && rangeErr != nil {
		return "", errors.New("is neither an address nor a CIDR range: write it as 10.0.0.7 or 10.0.0.0/24")
	}
	return s, nil
}

// hostPort reads what net.Listen takes, with a port in digits.
func hostPort(s string) (string, error) {
	_, port, err := net.SplitHostPort(s)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return "", errors.New("is not host:port: write it as 127.0.0.1:8080, or :8080 for every address of the machine")
	}
	return s, nil
}

// webURL reads an absolute http or https URL as it is written: issuers are compared byte by byte.
func webURL(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", errors.New("is not a URL that begins with https:// or http://: set one, such as https://id.example.com")
	}
	if u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("has a user, a query or a fragment: set the plain URL")
	}
	return s, nil
}

// origin reads scheme, host and port, and returns them as browsers spell an Origin header: lower case, without the
// default port, without a slash.
func origin(s string) (string, error) {
	if _, err := webURL(s); err != nil {
		return "", err
	}
	u, err := url.Parse(strings.ToLower(s))
	if err != nil || strings.Trim(u.Path, "/") != "" {
		return "", errors.New("has a path: set scheme, host and port alone, such as https://app.example.com")
	}
	port := u.Port()
	if u.Scheme == "http" && port == "80" || u.Scheme == "https" && port == "443" {
		u.Host = strings.TrimSuffix(u.Host, ":"+port)
	}
	return u.Scheme + "://" + strings.TrimSuffix(u.Host, ":"), nil
}

// errUnescaped says what is nearly always wrong with a URL that begins well and cannot be read.
var errUnescaped = errors.New("cannot be read as a URL: percent-encode the special characters of its user and password, " +
	"as in %40 for @, %23 for #, %2F for /, %3F for ?, %3A for : and %25 for %")

// urlOf reads the URL of a store, whose scheme is one of those given. The error never quotes it.
func urlOf(schemes ...string) func(string) (SecretURL, error) {
	return func(s string) (SecretURL, error) {
		scheme, _, whole := strings.Cut(s, "://")
		if !whole || !slices.Contains(schemes, strings.ToLower(scheme)) {
			return "", fmt.Errorf("is not a URL that begins with %s://: set one", strings.Join(schemes, ":// or "))
		}
		if u, err := url.Parse(s); err != nil || strings.Contains(s, "#") || stranded(u) {
			return "", errUnescaped
		}
		return SecretURL(s), nil
	}
}

// stranded reports whether the @ before the host stands behind it: a / or ? of the password has ended the host before.
func stranded(u *url.URL) bool {
	if strings.Contains(u.EscapedPath(), "@") {
		return true
	}
	for pair := range strings.SplitSeq(u.RawQuery, "&") {
		if name, _, _ := strings.Cut(pair, "="); strings.Contains(name, "@") {
			return true
		}
	}
	return false
}

// databaseURL reads the URL of a PostgreSQL database, whose driver ends the password at the first @ and not at the last.
func databaseURL(s string) (SecretURL, error) {
	u, err := urlOf("postgres", "postgresql")(s)
	if err != nil {
		return "", err
	}
	_, rest, _ := strings.Cut(s, "://")
	if authority := rest[:strings.IndexAny(rest+"/", "/?")]; strings.Count(authority, "@") > 1 {
		return "", errUnescaped
	}
	return u, nil
}

// isLoopback reports whether an origin is this machine, as browsers see it.
func isLoopback(origin string) bool {
	u, err := url.Parse(origin)
	if err != nil {
		return false
	}
	host := u.Hostname()
	if ip, err := netip.ParseAddr(host); err == nil {
		return ip.Unmap().IsLoopback()
	}
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}
