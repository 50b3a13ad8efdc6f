package api

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"sp00ky.cloud/spky/admin"
)

// object is a JSON object.
type object = map[string]any

// openAPI makes the OpenAPI 3.1 document of the table.
func (s *Server) openAPI() ([]byte, error) {
	fields, err := readFields()
	if err != nil {
		return nil, err
	}
	schemas := &schemas{fields: fields, of: map[string]*jsonschema.Schema{}, types: map[string]reflect.Type{}, strict: map[reflect.Type]bool{}}
	paths := object{}
	for path, routes := range byPath(s.routes) {
		item := object{}
		for _, r := range routes {
			operation, err := operation(r, schemas)
			if err != nil {
				return nil, fmt.Errorf("%s %s: %w", r.method, r.path, err)
			}
			item[strings.ToLower(r.method)] = operation
		}
		paths[prefix+path] = item
	}
	if err := schemas.add("Fault", fault{}); err != nil {
		return nil, err
	}
	return json.Marshal(object{
		"openapi": "3.1.0",
		"info": object{
			"title": "spky admin API", "version": s.cfg.Version,
			"description": "Look at jobs and durable workflows, and act on them. Every error is a Fault. Times are the database's.",
		},
		"servers":    []object{{"url": "/"}},
		"tags":       tags(s.routes),
		"paths":      paths,
		"components": object{"schemas": schemas.of, "securitySchemes": object{"bearer": object{"type": "http", "scheme": "bearer", "description": "A token of scope read or full."}}},
	})
}

func tags(routes []route) []object {
	says := map[string]string{ //nolint:gosec // no credentials, words about them
		"api": "The API itself.", "durable": "Durable workflows and their instances.", "jobs": "Jobs of the outbox tables.",
		"cluster": "Nodes, backends and what they do.", "tokens": "Admin tokens, and the audit.", "logs": "The log of this process.", "mcp": "Model Context Protocol.",
	}
	used := map[string]bool{}
	for _, r := range routes {
		used[r.tag] = true
	}
	var all []object
	for _, name := range slices.Sorted(maps.Keys(used)) {
		all = append(all, object{"name": name, "description": says[name]})
	}
	return all
}

// operation describes one route.
func operation(r route, schemas *schemas) (object, error) {
	o := object{"operationId": r.name, "tags": []string{r.tag}, "summary": r.says, "security": []object{}}
	if r.scope != scopeOpen {
		o["security"] = []object{{"bearer": []string{r.scope}}}
		o["x-scope"] = r.scope
	}
	if r.raw != nil {
		o["operationId"] = r.name + strings.ToUpper(r.method[:1]) + strings.ToLower(r.method[1:])
		o["responses"] = object{"default": object{"description": "As the protocol says."}}
		return o, nil
	}
	if all := parameters(r); len(all) > 0 {
		o["parameters"] = all
	}
	if r.body != nil {
		schemas.strict[reflect.TypeOf(r.body)] = true
		schema, err := schemas.ref(r.body)
		if err != nil {
			return nil, err
		}
		o["requestBody"] = object{"content": object{"application/json": object{"schema": schema}}}
	}
	answers, err := responses(r, schemas)
	if err != nil {
		return nil, err
	}
	o["responses"] = answers
	return o, nil
}

func parameters(r route) []object {
	var all []object
	for _, name := range r.variables() {
		all = append(all, object{"name": name, "in": "path", "required": true, "schema": object{"type": "string"}})
	}
	for _, p := range r.query {
		schema := *p.schema
		schema.Description = ""
		all = append(all, object{"name": p.name, "in": "query", "description": p.schema.Description, "schema": &schema})
	}
	return all
}

// responses are what a route can answer with.
func responses(r route, schemas *schemas) (object, error) {
	content, err := success(r, schemas)
	if err != nil {
		return nil, err
	}
	all := object{strconv.Itoa(r.success()): content}
	for _, status := range faults(r) {
		all[strconv.Itoa(status)] = object{
			"description": http.StatusText(status),
			"content":     object{"application/json": object{"schema": object{"$ref": "#/components/schemas/Fault"}}},
		}
	}
	return all, nil
}

// success is the answer of a route that did what it is for.
func success(r route, schemas *schemas) (object, error) {
	if r.success() == http.StatusNoContent {
		return object{"description": "Done."}, nil
	}
	if r.streams == nil {
		schema, err := schemas.ref(r.answer)
		return object{"description": r.says, "content": object{"application/json": object{"schema": schema}}}, err
	}
	events := object{}
	for name, data := range r.events {
		schema, err := schemas.ref(data)
		if err != nil {
			return nil, err
		}
		events[name] = schema
	}
	return object{
		"description": r.says + " An event end follows where nothing more will happen, an event error (a Fault) where something went wrong, an event lost where events were dropped because the reader was too slow.",
		"content":     object{"text/event-stream": object{"schema": object{"type": "string"}, "x-events": events}},
	}, nil
}

// faults are the statuses of errors that a route can answer with.
func faults(r route) []int {
	all := slices.Concat([]int{http.StatusInternalServerError, http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusServiceUnavailable}, r.refuses)
	if r.scope != scopeOpen {
		all = append(all, http.StatusUnauthorized, http.StatusTooManyRequests)
	}
	if r.scope == scopeFull {
		all = append(all, http.StatusForbidden, http.StatusUnprocessableEntity)
	}
	if len(r.query) > 0 {
		all = append(all, http.StatusUnprocessableEntity)
	}
	if r.takes() != nil {
		all = append(all, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// schemas are the document's, by the names of their Go types.
type schemas struct {
	fields fieldText
	// strict are the types of bodies: what they do not have is refused.
	strict map[reflect.Type]bool
	of     map[string]*jsonschema.Schema
	types  map[string]reflect.Type
}

// ref is a reference to the schema of a value's type, which it adds.
func (s *schemas) ref(value any) (*jsonschema.Schema, error) {
	if _, ok := value.(json.RawMessage); ok {
		return &jsonschema.Schema{Description: "Any JSON."}, nil
	}
	t := reflect.TypeOf(value)
	if t.Name() == "" {
		return jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: knownTypes()})
	}
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if err := s.add(name, value); err != nil {
		return nil, err
	}
	return &jsonschema.Schema{Ref: "#/components/schemas/" + name}, nil
}

func (s *schemas) add(name string, value any) error {
	t := reflect.TypeOf(value)
	if other, ok := s.types[name]; ok {
		if other != t {
			return fmt.Errorf("schema of %v: %v is called %s too", t, other, name)
		}
		return nil
	}
	schema, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: knownTypes()})
	if err != nil {
		return fmt.Errorf("schema of %T: %w", value, err)
	}
	s.fields.describe(schema, t)
	if s.strict[t] {
		neverNull(schema)
	} else {
		openUp(schema)
	}
	s.of[name], s.types[name] = schema, t
	return nil
}

// openUp lets a schema of answers have fields that a later version adds.
func openUp(schema *jsonschema.Schema) {
	if schema == nil {
		return
	}
	if extra := schema.AdditionalProperties; extra != nil && extra.Not != nil {
		schema.AdditionalProperties = nil
	}
	openUp(schema.AdditionalProperties)
	openUp(schema.Items)
	for _, property := range schema.Properties {
		openUp(property)
	}
}

// knownTypes are the schemas of types that say less than their values have to be.
func knownTypes() map[reflect.Type]*jsonschema.Schema {
	words := func(all []string) *jsonschema.Schema {
		schema := &jsonschema.Schema{Type: "string"}
		for _, w := range all {
			schema.Enum = append(schema.Enum, w)
		}
		return schema
	}
	var instance []string
	for _, status := range admin.Statuses() {
		instance = append(instance, string(status))
	}
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[admin.InstanceStatus](): words(instance),
		reflect.TypeFor[admin.Scope]():          words([]string{scopeRead, scopeFull}),
		reflect.TypeFor[time.Time]():            {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage]():      {Description: "Any JSON."},
	}
}
