// Package openapi renders the contract as an OpenAPI 3.1 document.
//
// Everything in the document comes from package api; the schemas are generated from its types. What a Go type cannot
// say, such as a length, is in the table of constraints.
package openapi

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/gatehouse/api"
)

// Render returns the document as indented JSON, the same bytes for the same contract.
func Render() ([]byte, error) {
	doc := &openapi3.T{
		OpenAPI:    "3.1.0",
		Info:       &openapi3.Info{Title: "API", Version: "1", Description: description},
		Servers:    openapi3.Servers{{URL: "/"}},
		Paths:      openapi3.NewPaths(),
		Components: &openapi3.Components{Schemas: openapi3.Schemas{}, SecuritySchemes: securitySchemes()},
		Extensions: map[string]any{"x-budgets": budgets()},
	}
	schemas := newSchemas(doc.Components.Schemas)
	for _, route := range api.Routes() {
		operation, err := operationOf(route, schemas)
		if err != nil {
			return nil, fmt.Errorf("render %s: %w", route.ID, err)
		}
		doc.AddOperation(route.Path, route.Method, operation)
	}
	return indented(doc)
}

const description = "Every refusal and failure is application/problem+json. " +
	"Responses state the budgets that were charged in RateLimit-Policy and RateLimit; a 429 says in Retry-After when to come back. " +
	"Any route may answer 429 because of the edge budgets, and 5xx."

func indented(doc *openapi3.T) ([]byte, error) {
	compact, err := json.Marshal(doc)
	if err != nil {
		return nil, fmt.Errorf("encode document: %w", err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, compact, "", "  "); err != nil {
		return nil, fmt.Errorf("indent document: %w", err)
	}
	out.WriteByte('\n')
	return out.Bytes(), nil
}

func securitySchemes() openapi3.SecuritySchemes {
	return openapi3.SecuritySchemes{
		"session": {Value: &openapi3.SecurityScheme{
			Type: "apiKey", In: "cookie", Name: "session", Description: "The web's session, __Host-session under https.",
		}},
		"bearer": {Value: &openapi3.SecurityScheme{
			Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "An access token of the OIDC issuer.",
		}},
	}
}

// budgets is the table for the x-budgets extension.
func budgets() []map[string]any {
	var rows []map[string]any
	for _, b := range api.Budgets() {
		row := map[string]any{
			"name": b.Name, "limit": b.Limit, "windowSeconds": api.CeilSeconds(b.Window), "per": b.Per, "algorithm": b.Algorithm,
			"countedIn": b.Place, "onStoreFailure": b.OnFailure, "metered": b.Metered, "description": b.Why,
		}
		if b.Refill > 0 {
			row["refillPerSecond"] = b.Refill
		}
		rows = append(rows, row)
	}
	return rows
}

func operationOf(route api.Route, schemas *schemas) (*openapi3.Operation, error) {
	op := &openapi3.Operation{
		OperationID: route.ID, Summary: route.Summary, Tags: []string{strings.Split(route.ID, ".")[0]},
		Parameters: parameters(route), Security: security(route.Class), Responses: openapi3.NewResponses(),
		Extensions: map[string]any{"x-auth": route.Class.String(), "x-budgets": charged(route)},
	}
	op.Responses.Delete("default")
	if err := addBodies(op, route, schemas); err != nil {
		return nil, err
	}
	for _, kind := range failures(route) {
		if err := addFailure(op, kind, schemas); err != nil {
			return nil, err
		}
	}
	if route.ID == api.RouteAuthLogin {
		away := openapi3.NewResponse().WithDescription("Where a browser is navigating, instead of 429 and 503: to the page, which says why.")
		away.Headers = openapi3.Headers{"Location": header("/?signin=CODE")}
		op.Responses.Set(strconv.Itoa(http.StatusSeeOther), &openapi3.ResponseRef{Value: away})
	}
	return op, nil
}

// charged names the edge too: it comes before every route.
func charged(route api.Route) []string {
	return append([]string{api.BudgetEdge, api.BudgetEdgeCaller}, route.Charges()...)
}

func security(class api.Class) *openapi3.SecurityRequirements {
	either := openapi3.SecurityRequirements{{"session": {}}, {"bearer": {}}}
	switch class {
	case api.ClassPublic:
		return &openapi3.SecurityRequirements{}
	case api.ClassOptional:
		either = append(either, openapi3.SecurityRequirement{})
	case api.ClassUser, api.ClassAuth, api.ClassAdmin:
	}
	return &either
}

func parameters(route api.Route) openapi3.Parameters {
	var params openapi3.Parameters
	for segment := range strings.SplitSeq(route.Path, "/") {
		if name, ok := strings.CutPrefix(segment, "{"); ok {
			name = strings.TrimSuffix(name, "}")
			p := openapi3.NewPathParameter(name).WithSchema(segmentSchema(route, name))
			params = append(params, &openapi3.ParameterRef{Value: p})
		}
	}
	for _, q := range route.Query {
		schema := &openapi3.Schema{Type: &openapi3.Types{q.Type}, Format: q.Format}
		p := openapi3.NewQueryParameter(q.Name).WithSchema(schema).WithDescription(q.Why).WithRequired(q.Required)
		params = append(params, &openapi3.ParameterRef{Value: p})
	}
	if route.TakesKey {
		params = append(params, &openapi3.ParameterRef{Value: idempotencyKey()})
	}
	return params
}

func idempotencyKey() *openapi3.Parameter {
	schema := openapi3.NewStringSchema().WithMinLength(1).WithMaxLength(api.MaxIdempotencyKey).WithPattern("^[!-~]([ -~]*[!-~])?$")
	about := "Names the request. Sent again with the same key and body within 24 hours it gets the first answer, is not done again " +
		"and spends no budget but the edge. Refusals and failures are not kept."
	return openapi3.NewHeaderParameter(api.HeaderIdempotencyKey).WithSchema(schema).WithDescription(about)
}

// segmentSchema is the schema of a path's segment: an id is a UUID, unless a scope before it says what it is the id of.
func segmentSchema(route api.Route, name string) *openapi3.Schema {
	switch {
	case name == "scope" && route.ID == api.RouteAdminLimitsExplain, name == "scope" && route.ID == api.RouteAdminLimitsReset:
		return openapi3.NewStringSchema().WithEnum(api.ScopeOrganisation, api.ScopeUser, api.ScopeAddress, api.ScopeSession, api.ScopeGlobal)
	case name == "scope":
		return openapi3.NewStringSchema().WithEnum(api.ScopePlan, api.ScopeOrganisation, api.ScopeUser)
	case name == "id" && !strings.Contains(route.Path, "{scope}"):
		return openapi3.NewUUIDSchema()
	}
	return openapi3.NewStringSchema()
}

func addBodies(op *openapi3.Operation, route api.Route, schemas *schemas) error {
	if route.Request != nil {
		ref, err := schemas.of(route.Request)
		if err != nil {
			return err
		}
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(true).WithContent(requestContent(route, ref))}
	}
	if len(route.Form) > 0 {
		op.RequestBody = &openapi3.RequestBodyRef{Value: openapi3.NewRequestBody().WithRequired(true).WithContent(formContent(route.Form))}
	}
	response := openapi3.NewResponse().WithDescription(http.StatusText(route.Status))
	response.Headers = successHeaders(route)
	switch {
	case route.Response != nil:
		ref, err := schemas.of(route.Response)
		if err != nil {
			return err
		}
		response.WithContent(openapi3.NewContentWithSchemaRef(ref, []string{"application/json"}))
	case route.ContentType != "":
		response.WithContent(openapi3.NewContentWithSchema(openapi3.NewSchema(), []string{route.ContentType}))
	}
	op.Responses.Set(strconv.Itoa(route.Status), &openapi3.ResponseRef{Value: response})
	return nil
}

func requestContent(route api.Route, ref *openapi3.SchemaRef) openapi3.Content {
	kinds := []string{"application/json"}
	if route.Method == http.MethodPatch {
		kinds = append(kinds, "application/merge-patch+json")
	}
	return openapi3.NewContentWithSchemaRef(ref, kinds)
}

func formContent(fields []api.Param) openapi3.Content {
	schema := openapi3.NewObjectSchema()
	for _, f := range fields {
		schema.WithProperty(f.Name, &openapi3.Schema{Type: &openapi3.Types{f.Type}, Format: f.Format, Description: f.Why})
		if f.Required {
			schema.Required = append(schema.Required, f.Name)
		}
	}
	return openapi3.NewContentWithSchema(schema, []string{"application/x-www-form-urlencoded"})
}

func successHeaders(route api.Route) openapi3.Headers {
	headers := quotaHeaders()
	if route.Status == http.StatusCreated || route.Status == http.StatusFound || route.Status == http.StatusSeeOther {
		headers["Location"] = header("Where to go, or what was made.")
	}
	if route.TakesKey {
		headers[api.HeaderIdempotencyReplayed] = header("true where the answer is that of an earlier request with this key.")
	}
	return headers
}

func quotaHeaders() openapi3.Headers {
	return openapi3.Headers{
		api.HeaderRateLimitPolicy: header("The budgets charged: q units in any w seconds."),
		api.HeaderRateLimit:       header("What is left of them: r units, more in t seconds."),
		api.HeaderRequestID:       header("Names this request in the server's log."),
	}
}

func header(about string) *openapi3.HeaderRef {
	return &openapi3.HeaderRef{Value: &openapi3.Header{Parameter: openapi3.Parameter{
		Description: about, Schema: openapi3.NewSchemaRef("", openapi3.NewStringSchema()),
	}}}
}

// failures are the kinds of answers, other than success, that a route may give. Each status is described once.
func failures(route api.Route) []api.ErrorKind {
	// A body that is too large is refused by any route, one that takes none included.
	codes := []api.Code{api.CodeBadRequest, api.CodePayloadTooLarge, api.CodeRateLimitExceeded, api.CodeInternal, api.CodeUnavailable}
	if route.Class != api.ClassPublic || route.ID == api.RouteAuthLogout { // To sign out everywhere one must be somebody.
		codes = append(codes, api.CodeAuthFailed)
	}
	if route.Method != http.MethodGet || route.Class == api.ClassAdmin {
		codes = append(codes, api.CodeForbidden)
	}
	if strings.Contains(route.Path, "{") {
		codes = append(codes, api.CodeNotFound)
	}
	if route.Request != nil || len(route.Query) > 0 || strings.Contains(route.Path, "{scope}") {
		codes = append(codes, api.CodeValidationFailed)
	}
	if route.Method != http.MethodGet {
		codes = append(codes, api.CodeRequestTimeout)
	}
	if route.Request != nil || len(route.Form) > 0 {
		codes = append(codes, api.CodeUnsupportedMediaType)
	}
	if route.TakesKey {
		codes = append(codes, api.CodeConflict)
	}
	// example:begin
	if route.ID == api.RouteReportsCreate { // Its body names a task.
		codes = append(codes, api.CodeNotFound)
	}
	if route.ID == api.RouteTasksParse {
		codes = append(codes, api.CodeUpstreamFailed)
	}
	// example:end
	return slices.DeleteFunc(api.ErrorKinds(), func(k api.ErrorKind) bool { return !slices.Contains(codes, k.Code) })
}

func addFailure(op *openapi3.Operation, kind api.ErrorKind, schemas *schemas) error {
	ref, err := schemas.of(api.Problem{})
	if err != nil {
		return err
	}
	response := openapi3.NewResponse().WithDescription(kind.Message + ".").
		WithContent(openapi3.NewContentWithSchemaRef(ref, []string{api.ContentTypeProblem}))
	if kind.Status == http.StatusConflict {
		response.Headers = openapi3.Headers{api.HeaderRetryAfter: header("Whole seconds to wait.")}
	}
	if kind.Status == http.StatusTooManyRequests || kind.Status == http.StatusServiceUnavailable {
		response.Headers = quotaHeaders()
		response.Headers[api.HeaderRetryAfter] = header("Whole seconds to wait; absent where no wait helps.")
		response.Headers[api.HeaderXRetryAfter] = header("The same.")
	}
	op.Responses.Set(strconv.Itoa(kind.Status), &openapi3.ResponseRef{Value: response})
	return nil
}
