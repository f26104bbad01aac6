package openapi

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3gen"

	"example.com/gatehouse/api"
)

// schemas collects the schemas of body types as components, each once.
type schemas struct {
	components openapi3.Schemas
}

func newSchemas(components openapi3.Schemas) *schemas { return &schemas{components: components} }

// of returns a reference to the schema of a value's type.
func (s *schemas) of(value any) (*openapi3.SchemaRef, error) { return s.ofType(reflect.TypeOf(value)) }

func (s *schemas) ofType(t reflect.Type) (*openapi3.SchemaRef, error) {
	if s.components[t.Name()] == nil {
		ref, err := generate(t)
		if err != nil {
			return nil, err
		}
		s.components[t.Name()] = ref
		if err := s.nest(t, ref.Value); err != nil {
			return nil, err
		}
	}
	return openapi3.NewSchemaRef("#/components/schemas/"+t.Name(), nil), nil
}

// nest gives the types of a type's fields components of their own.
func (s *schemas) nest(t reflect.Type, schema *openapi3.Schema) error {
	for field := range t.Fields() {
		property, inner := schema.Properties[jsonName(field)], field.Type
		if inner.Kind() == reflect.Slice {
			inner, property = inner.Elem(), property.Value.Items
		}
		if inner.Kind() != reflect.Struct || inner == reflect.TypeFor[api.Time]() || isOptional(inner) {
			continue
		}
		ref, err := s.ofType(inner)
		if err != nil {
			return err
		}
		*property = *ref
	}
	return nil
}

// generate makes the schema of a type, which holds its parts in place.
func generate(t reflect.Type) (*openapi3.SchemaRef, error) {
	generator := openapi3gen.NewGenerator(openapi3gen.SchemaCustomizer(customize))
	ref, err := generator.NewSchemaRefForValue(reflect.Zero(t).Interface(), nil)
	if err != nil {
		return nil, fmt.Errorf("generate schema of %s: %w", t.Name(), err)
	}
	return ref, nil
}

func jsonName(field reflect.StructField) string {
	name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
	return name
}

// enums are the string types of the contract that have few values.
func enums() map[reflect.Type][]any {
	all := map[reflect.Type][]any{
		reflect.TypeFor[api.Per]():       kinds(),
		reflect.TypeFor[api.Algorithm](): {api.Sliding, api.Segments, api.Bucket, api.Fixed},
		reflect.TypeFor[api.Mode]():      {api.FailOpen, api.FailLocal, api.FailClosed},
		reflect.TypeFor[api.Scope]():     {api.ScopePlan, api.ScopeOrganisation, api.ScopeUser, api.ScopeAddress, api.ScopeSession, api.ScopeGlobal},
		reflect.TypeFor[api.Source]():    {api.SourceTable, api.SourceFile, api.SourcePlan, api.SourceOrganisation, api.SourceUser},
		reflect.TypeFor[api.Place]():     {api.InMemory, api.InRedis, api.InPostgres, "local"},
	}
	// example:begin
	for _, p := range api.Priorities() {
		t := reflect.TypeFor[api.Priority]()
		all[t] = append(all[t], p)
	}
	// example:end
	for _, k := range api.ErrorKinds() {
		t := reflect.TypeFor[api.Code]()
		all[t] = append(all[t], k.Code)
	}
	return all
}

// kinds are whose counters budgets are: the contract's own, and those that the table names beside them.
func kinds() []any {
	all := []any{api.PerAddress, api.PerUser, api.PerOrganisation, api.PerSession, api.PerGlobal}
	for _, b := range api.Budgets() {
		if !slices.Contains(all, any(b.Per)) {
			all = append(all, b.Per)
		}
	}
	return all
}

// customize turns what the generator made of a Go type into what the type is on the wire.
func customize(_ string, t reflect.Type, _ reflect.StructTag, schema *openapi3.Schema) error {
	switch {
	case t == reflect.TypeFor[api.Time]():
		*schema = openapi3.Schema{Type: &openapi3.Types{"string"}, Format: "date-time", Nullable: schema.Nullable}
	case isOptional(t):
		if err := unwrapOptional(t, schema); err != nil {
			return err
		}
	case t.Kind() == reflect.Struct:
		describe(t, schema)
	}
	if values := enums()[t]; values != nil {
		schema.Enum = values
	}
	if schema.Nullable { // OpenAPI 3.1 has no such keyword.
		schema.Nullable = false
		schema.Type.With("null")
		if schema.Enum != nil {
			schema.Enum = append(slices.Clone(schema.Enum), nil)
		}
	}
	return nil
}

func isOptional(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.Name(), "Optional[")
}

// unwrapOptional gives a field of a merge patch the schema of its value, or null.
func unwrapOptional(t reflect.Type, schema *openapi3.Schema) error {
	field, _ := t.FieldByName("Value")
	ref, err := generate(field.Type)
	if err != nil {
		return err
	}
	*schema = *ref.Value
	schema.Nullable = true
	return nil
}

// describe fills in what a struct's tags and the tables say of its fields.
func describe(t reflect.Type, schema *openapi3.Schema) {
	for field := range t.Fields() {
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		if property == nil {
			continue
		}
		if options == "" {
			schema.Required = append(schema.Required, name)
		}
		if isUUID(name) {
			property.Value.Format = "uuid"
		}
		if limit, ok := constraints()[t.Name()+"."+name]; ok {
			limit(property.Value)
		}
	}
	if isRequest(t) {
		schema.AdditionalProperties = openapi3.AdditionalProperties{Has: new(false)}
	}
}

// isUUID goes by the name of a field: ids are UUIDs, but for that of a request, which a proxy may choose.
func isUUID(name string) bool {
	return name == "id" || name == "createdBy" || strings.HasSuffix(name, "Id") && name != "requestId"
}

// isRequest says whether values of the type are read strictly.
func isRequest(t reflect.Type) bool {
	return slices.ContainsFunc(api.Routes(), func(r api.Route) bool { return r.Request != nil && reflect.TypeOf(r.Request) == t })
}

// constraints are the rules of the request bodies that a Go type cannot say. The numbers are those of api's own checks.
func constraints() map[string]func(*openapi3.Schema) {
	text := func(most uint64) func(*openapi3.Schema) {
		return func(s *openapi3.Schema) { s.MinLength, s.MaxLength = 1, &most }
	}
	// example:begin
	tags := func(s *openapi3.Schema) {
		s.MaxItems, s.UniqueItems = new(uint64(api.MaxTags)), true
		text(api.MaxTag)(s.Items.Value)
	}
	notes := func(s *openapi3.Schema) { s.MaxLength = new(uint64(api.MaxNotes)) }
	// example:end
	// A scope beside it says what it is the id of: a plan's name, an address.
	anyID := func(s *openapi3.Schema) { s.Format = "" }
	object := func(s *openapi3.Schema) { s.Type = &openapi3.Types{"object", "null"} }
	return map[string]func(*openapi3.Schema){
		"Override.id":                 anyID,
		"ThrottledKey.id":             anyID,
		"ShadowedKey.id":              anyID,
		"Explanation.id":              anyID,
		"AuditEntry.before":           object,
		"AuditEntry.after":            object,
		"PlanChange.plan":             text(api.MaxPlan),
		"PlanChange.reason":           text(api.MaxReason),
		"Revocation.reason":           text(api.MaxReason),
		"OverridePut.reason":          text(api.MaxReason),
		"OverridePut.limit":           atLeast(0),
		"OverridePut.refillPerSecond": atLeast(1),
		// example:begin
		"TaskCreate.title":    text(api.MaxTitle),
		"TaskCreate.notes":    notes,
		"TaskCreate.tags":     tags,
		"TaskUpdate.title":    func(s *openapi3.Schema) { notNull(s); text(api.MaxTitle)(s) },
		"TaskUpdate.done":     notNull,
		"TaskUpdate.notes":    notes,
		"TaskUpdate.tags":     tags,
		"ParseRequest.text":   text(api.MaxText),
		"ReportCreate.reason": text(api.MaxReason),
		// example:end
	}
}

// atLeast is the smallest value of an optional number, which is never null.
func atLeast(least float64) func(*openapi3.Schema) {
	return func(s *openapi3.Schema) { notNull(s); s.Min = &least }
}

// notNull takes null from a field of a merge patch that cannot be cleared.
func notNull(s *openapi3.Schema) { s.Type = new(s.Type.Clone()); s.Type.Without("null") }
