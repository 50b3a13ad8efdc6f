package mcp

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"

	"github.com/google/jsonschema-go/jsonschema"
)

// Properties are the fields of an input, to be narrowed down.
type properties map[string]*jsonschema.Schema

func (p properties) enum(name string, allowed ...string) {
	for _, word := range allowed {
		p[name].Enum = append(p[name].Enum, word)
	}
}

func (p properties) between(name string, least, most float64) {
	p[name].Minimum, p[name].Maximum = &least, &most
}

func (p properties) longest(name string, most int) {
	least := 1
	p[name].MinLength, p[name].MaxLength = &least, &most
}

// limit is how much of something is shown.
func (p properties) limit(otherwise, most int) {
	p.between("limit", 1, float64(most))
	p["limit"].Default = json.RawMessage(strconv.Itoa(otherwise))
}

// schemaOf is the schema of a type's JSON. What may be left out is never null.
func schemaOf[T any]() *jsonschema.Schema {
	s, err := jsonschema.For[T](&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {},
	}})
	if err != nil {
		panic(err) // the types are this package's own
	}
	neverNull(s)
	return s
}

func neverNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	neverNull(s.Items)
	neverNull(s.AdditionalProperties)
	for _, p := range s.Properties {
		neverNull(p)
	}
}

// resolved prepares a schema for checking.
func resolved(s *jsonschema.Schema) *jsonschema.Resolved {
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		panic(err) // the schemas are this package's own
	}
	return r
}
