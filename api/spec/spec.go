// Package spec holds the contract as an OpenAPI document, rendered by `make generate` and embedded.
package spec

import _ "embed"

//go:embed openapi.json
var openAPI []byte

// OpenAPI returns the document as JSON. The bytes are not to be changed.
func OpenAPI() []byte { return openAPI }
