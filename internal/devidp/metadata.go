package devidp

import (
	"encoding/json"
	"net/http"
)

// serveMetadata is the discovery document (OpenID Connect Discovery 1.0, RFC 8414).
func (p *Provider) serveMetadata(w http.ResponseWriter, _ *http.Request) {
	writeJSON(w, http.StatusOK, map[string]any{
		"issuer":                                         p.cfg.Issuer,
		"authorization_endpoint":                         p.cfg.Issuer + "/authorize",
		"token_endpoint":                                 p.cfg.Issuer + "/token",
		"userinfo_endpoint":                              p.cfg.Issuer + "/userinfo",
		"jwks_uri":                                       p.cfg.Issuer + "/keys",
		"end_session_endpoint":                           p.cfg.Issuer + "/logout",
		"scopes_supported":                               scopes(),
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token"},
		"subject_types_supported":                        []string{"public"},
		"id_token_signing_alg_values_supported":          []string{string(signingAlgorithm)},
		"token_endpoint_auth_methods_supported":          []string{"client_secret_basic", "client_secret_post", "none"},
		"code_challenge_methods_supported":               []string{"S256"},
		"authorization_response_iss_parameter_supported": true,
		"request_uri_parameter_supported":                false,
		"backchannel_logout_supported":                   true,
		"backchannel_logout_session_supported":           true,
		"claims_supported": []string{
			"iss", "sub", "aud", "exp", "iat", "auth_time", "nonce", "at_hash", "azp", "sid",
			"name", "email", "org_id", "org_name", "roles",
		},
	})
}

// serveKeys is the public half of the signing keys: of that which will sign next, and of those whose tokens live.
func (p *Provider) serveKeys(w http.ResponseWriter, r *http.Request) {
	keys, err := p.keys.public(r.Context())
	if err != nil {
		p.unavailable(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, keys)
}

// unavailable answers that the database cannot be asked now. The cause goes to the log.
func (p *Provider) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	p.cfg.Log.ErrorContext(r.Context(), "development issuer", "path", r.URL.Path, "error", err)
	w.Header().Set("Retry-After", "5")
	writeError(w, http.StatusServiceUnavailable, "temporarily_unavailable", "the development issuer cannot reach its database")
}

// writeError answers in OAuth's form.
func writeError(w http.ResponseWriter, status int, code, description string) {
	writeJSON(w, status, map[string]string{"error": code, "error_description": description})
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) //nolint:errchkjson // the bodies are plain; it fails only when the client has gone
}
