package openapi_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"example.com/gatehouse/api"
	"example.com/gatehouse/api/spec"
	"example.com/gatehouse/internal/openapi"
)

var update = flag.Bool("update", false, "write api/spec/openapi.json anew")

// The committed document is what the contract renders to.
func TestGolden(t *testing.T) {
	t.Parallel()
	got, err := openapi.Render()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "api", "spec", "openapi.json")
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if !bytes.Equal(got, spec.OpenAPI()) {
		t.Fatal("api/spec/openapi.json is not what the contract renders to: run `make generate`")
	}
}

// The document is valid OpenAPI 3.1, and says of each route what its row says.
func TestDocument(t *testing.T) {
	t.Parallel()
	rendered, err := openapi.Render()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(rendered)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	for _, route := range api.Routes() {
		op := doc.Paths.Value(route.Path).GetOperation(route.Method)
		if op == nil || op.OperationID != route.ID {
			t.Errorf("%s is not in the document", route.ID)
			continue
		}
		if op.Extensions["x-auth"] != route.Class.String() {
			t.Errorf("%s: x-auth is %v", route.ID, op.Extensions["x-auth"])
		}
		if op.Responses.Value("429") == nil {
			t.Errorf("%s does not say that it may answer 429", route.ID)
		}
		if has := op.Responses.Value("401") != nil; has != (route.Class != api.ClassPublic || route.ID == api.RouteAuthLogout) {
			t.Errorf("%s, class %s: a 401 is described: %v", route.ID, route.Class, has)
		}
		if has := op.Parameters.GetByInAndName("header", api.HeaderIdempotencyKey) != nil; has != route.TakesKey || has != (op.Responses.Value("409") != nil) {
			t.Errorf("%s takes an idempotency key: %v, and the document says %v", route.ID, route.TakesKey, has)
		}
		if budgets, _ := op.Extensions["x-budgets"].([]any); len(budgets) != len(route.Charges())+2 {
			t.Errorf("%s: x-budgets is %v", route.ID, op.Extensions["x-budgets"])
		}
	}
	if rows, _ := doc.Extensions["x-budgets"].([]any); len(rows) != len(api.Budgets()) {
		t.Errorf("the document has %d budgets, the table %d", len(rows), len(api.Budgets()))
	}
}
