package auth

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxReturnTo is the longest return path, in bytes; it is kept in a row for each sign-in that was begun.
const maxReturnTo = 2048

// LocalPath gives text back if a browser that is redirected to it stays on this host, and "/" for everything else.
// It is strict where browsers and proxies are known to differ: backslashes, control characters (which browsers drop),
// dot segments, and doubled slashes, each also in percent-encoded form.
func LocalPath(text string) string {
	if len(text) > maxReturnTo || !strings.HasPrefix(text, "/") || strings.HasPrefix(text, "//") || !isPlain(text) {
		return "/"
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "" || u.Host != "" || u.User != nil || !isLocal(u.Path) {
		return "/"
	}
	return text
}

// isPlain says whether text holds nothing that a browser would drop or read as a slash.
func isPlain(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return r == '\\' || unicode.IsControl(r) || unicode.IsSpace(r) || unicode.Is(unicode.Cf, r)
	})
}

// isLocal looks at the decoded path, and once more at what decoding it again would give.
func isLocal(path string) bool {
	for range 2 {
		if !isPlain(path) || strings.Contains(path, "//") || hasDotSegment(path) {
			return false
		}
		again, err := url.PathUnescape(path)
		if err != nil {
			return true
		}
		path = again
	}
	return true
}

func hasDotSegment(path string) bool {
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "." || segment == ".." {
			return true
		}
	}
	return false
}
