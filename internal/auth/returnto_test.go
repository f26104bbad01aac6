package auth

import (
	"net/url"
	"strings"
	"testing"
)

func TestLocalPath(t *testing.T) {
	t.Parallel()
	good := []string{
		"/", "/tasks", "/tasks?done=true&q=a%2Fb", "/tasks/01#notes", "/caf%C3%A9", "/a?next=https://x.example", "/100%25",
	}
	for _, path := range good {
		if got := LocalPath(path); got != path {
			t.Errorf("LocalPath(%q) = %q, want it unchanged", path, got)
		}
	}
	bad := []string{
		"", "//", "//?x", "//#x", "tasks", "https://evil.example", "//evil.example", "///evil.example", `/\evil.example`, `\/evil.example`, `/a\b`,
		"/\t/evil.example", "/\n/evil.example", "/\r\nSet-Cookie: a=b", "/\x00", " /", "/ /", "/a//b", "/./evil", "/..//evil",
		"/%2fevil.example", "/%2F%2Fevil.example", "/%5Cevil.example", "/%5cevil", "/%252f%252fevil", "/%09/evil", "/%0d%0a",
		"/%2e%2e//evil", "/%2e", "javascript:alert(1)", "/%", "/\u2028x", "/\u200bx", "/\xff", "http:/evil", "//user@evil.example",
		"/" + strings.Repeat("a", maxReturnTo),
	}
	for _, path := range bad {
		if got := LocalPath(path); got != "/" {
			t.Errorf("LocalPath(%q) = %q, want /", path, got)
		}
	}
}

// FuzzLocalPath: what comes out stays on the host, for a strict parser and for one as lenient as browsers are.
func FuzzLocalPath(f *testing.F) {
	for _, seed := range []string{"/tasks?x=1", "//", "//evil.example", `/\evil.example`, "/\t//evil", "/%2f%2fevil", "/a/../..//evil", "/%252fevil"} {
		f.Add(seed)
	}
	base, err := url.Parse("https://app.example/api/v1/auth/callback")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, text string) {
		path := LocalPath(text)
		if path != text && path != "/" {
			t.Fatalf("LocalPath(%q) = %q, neither the input nor /", text, path)
		}
		for range 3 {
			for _, as := range []string{path, asBrowsersReadIt(path)} {
				u, err := base.Parse(as)
				if err == nil && (u.Host != base.Host || u.Scheme != base.Scheme || strings.HasPrefix(as, "//")) {
					t.Fatalf("LocalPath(%q) leads to %s", text, u)
				}
			}
			before, query, _ := strings.Cut(path, "?")
			decoded, err := url.PathUnescape(before)
			if err != nil {
				return
			}
			path = decoded + "?" + query
		}
	})
}

// asBrowsersReadIt drops tabs and line ends and takes backslashes for slashes, as the URL standard has it.
func asBrowsersReadIt(text string) string {
	text = strings.Trim(text, "\x00\x01\x1f ")
	return strings.NewReplacer("\t", "", "\n", "", "\r", "", `\`, "/").Replace(text)
}
