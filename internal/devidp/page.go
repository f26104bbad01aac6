package devidp

import (
	"crypto/sha256"
	_ "embed" // for the style
	"encoding/base64"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// The pages are written by hand, each value escaped where it is put in: html/template would switch off the linker's
// dead code elimination and add 21 MB to the server for a handful of values.

// writePeoplePage offers the people. The form carries the request along, so that nothing need be kept meanwhile.
func (p *Provider) writePeoplePage(w http.ResponseWriter, request authRequest, values url.Values) {
	var b strings.Builder
	fmt.Fprintf(&b, `<p>Pick who to be for <strong>%s</strong>. These people are made up and have no passwords: `+
		`this issuer is for development only.</p><form method="post" action="%s">`,
		html.EscapeString(request.client.ID), html.EscapeString(p.base+"/authorize"))
	for _, name := range requestParameters() {
		if values.Has(name) {
			fmt.Fprintf(&b, `<input type="hidden" name="%s" value="%s">`, name, html.EscapeString(values.Get(name)))
		}
	}
	b.WriteString("<ul>")
	for _, person := range People() {
		writePerson(&b, person)
	}
	b.WriteString("</ul></form>")
	writePage(w, http.StatusOK, "Sign in", b.String(), redirectSource(request.redirect))
}

// requestParameters are what an authorization request may hold that matters later.
func requestParameters() []string {
	return []string{
		"client_id", "redirect_uri", "response_type", "response_mode", "scope", "state", "nonce",
		"code_challenge", "code_challenge_method",
	}
}

func writePerson(b *strings.Builder, person Person) {
	group := "No organisation"
	if person.OrgName != "" {
		group = person.OrgName
	}
	if slices.Contains(person.Roles, "admin") {
		group += " · admin"
	}
	fmt.Fprintf(b, `<li><button name="person" value="%s"><b>%s</b><span>%s</span><small>%s</small></button></li>`,
		html.EscapeString(person.ID), html.EscapeString(person.Name),
		html.EscapeString(group), html.EscapeString(person.Email))
}

// writeFaultPage tells the person what is wrong with a request that cannot be answered to its client.
func (p *Provider) writeFaultPage(w http.ResponseWriter, problem string) {
	writePage(w, http.StatusBadRequest, "This request cannot be answered",
		"<p>"+html.EscapeString(problem)+"</p><p>The fault is in the application that sent you here.</p>", "")
}

func (p *Provider) writeSignedOutPage(w http.ResponseWriter) {
	writePage(w, http.StatusOK, "Signed out", "<p>You are signed out of the development issuer.</p>", "")
}

// redirectSource is how a content security policy names where the form's answer redirects to: browsers hold the
// redirects of a form to form-action too. The redirect was registered, so it has no characters that end a directive.
func redirectSource(redirect string) string {
	u, err := url.Parse(redirect)
	if err != nil {
		return ""
	}
	if u.Host == "" || strings.Contains(u.Hostname(), ":") { // a policy cannot name an IPv6 address
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// writePage writes a page that can load nothing and run nothing; its one style is allowed by its hash.
func writePage(w http.ResponseWriter, status int, title, body, formTarget string) {
	sum := sha256.Sum256([]byte(style))
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Security-Policy", strings.TrimSpace(fmt.Sprintf(
		"default-src 'none'; style-src 'sha256-%s'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' %s",
		base64.StdEncoding.EncodeToString(sum[:]), formTarget)))
	w.WriteHeader(status)
	fmt.Fprintf(w, `<!doctype html><html lang="en"><head><meta charset="utf-8">`+
		`<meta name="viewport" content="width=device-width, initial-scale=1">`+
		`<title>%[1]s · Development issuer</title><style>%[2]s</style></head>`+
		`<body><main><p class="badge">Development issuer</p><h1>%[1]s</h1>%[3]s</main></body></html>`, title, style, body)
}

//go:embed style.css
var style string
