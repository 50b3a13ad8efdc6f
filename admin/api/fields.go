package api

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// fieldsJSON is what the comments in package admin say of the fields of its types, by type and by name in
// JSON. The test of it writes it anew: go test ./admin/api -run Fields -update.
//
//go:embed fields.json
var fieldsJSON []byte

// A fieldText is what the fields of types mean.
type fieldText map[string]map[string]string

func readFields() (fieldText, error) {
	var all fieldText
	if err := json.Unmarshal(fieldsJSON, &all); err != nil {
		return nil, fmt.Errorf("what fields mean: %w", err)
	}
	return all, nil
}

// describe says in a schema what the fields of its type mean, as far as the schema does not.
func (f fieldText) describe(schema *jsonschema.Schema, t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case schema == nil:
	case t.Kind() == reflect.Slice && schema.Items != nil:
		f.describe(schema.Items, t.Elem())
	case t.Kind() == reflect.Map && schema.AdditionalProperties != nil:
		f.describe(schema.AdditionalProperties, t.Elem())
	case t.Kind() == reflect.Struct && schema.Properties != nil:
		f.describeStruct(schema, t)
	}
}

func (f fieldText) describeStruct(schema *jsonschema.Schema, t reflect.Type) {
	texts := f[path.Base(t.PkgPath())+"."+t.Name()]
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[name]
		switch {
		case field.Anonymous && len(field.Index) == 1 && name == "":
			f.describe(schema, field.Type) // its fields are the schema's own
		case property == nil || len(field.Index) > 1:
		default:
			if property.Description == "" {
				property.Description = texts[name]
			}
			f.describe(property, field.Type)
		}
	}
}
