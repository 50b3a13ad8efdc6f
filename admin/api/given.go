package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"sp00ky.cloud/spky/admin"
)

// What is left out of a body often means all, or the default. What is there and says nothing, such as the null that a
// variable makes which was never set, is not taken for left out: it is refused.

// noNulls refuses a body that is null, or that has a null where its type is not any JSON.
func noNulls(content []byte, t reflect.Type) error {
	switch at := nullIn(content, t); at {
	case "":
		return nil
	case ".":
		return refuse(http.StatusUnprocessableEntity, "invalid", "leave the body out, or send a JSON object", "the body does not fit: it is null")
	default:
		return refuse(http.StatusUnprocessableEntity, "invalid", "leave it out, or give it a value", "the body does not fit: %s is null", at[1:])
	}
}

// nullIn names the first null of a body that fits its type, as .from.count; the body itself is ".", and "" is none.
func nullIn(content []byte, t reflect.Type) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if t == reflect.TypeFor[json.RawMessage]() {
		return ""
	}
	if string(bytes.TrimSpace(content)) == "null" {
		return "."
	}
	var fields map[string]json.RawMessage
	if t.Kind() != reflect.Struct || json.Unmarshal(content, &fields) != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		field, ok := t.FieldByNameFunc(func(of string) bool {
			f, _ := t.FieldByName(of)
			tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			return strings.EqualFold(tag, name) // as the decoder has it
		})
		if !ok {
			continue
		}
		if at := nullIn(fields[name], field.Type); at != "" {
			return "." + name + strings.TrimSuffix(at, ".")
		}
	}
	return ""
}

// neverNull lets a body's schema have no nulls.
func neverNull(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if i := slices.Index(s.Types, "null"); i >= 0 && len(s.Types) == 2 {
		s.Type, s.Types = s.Types[1-i], nil
	}
	for _, p := range s.Properties {
		neverNull(p)
	}
}

// counted is a number of a body that begins at 1, and 0 where it is left out.
func counted(name string, given *int, most int) (int, error) {
	if given == nil {
		return 0, nil
	}
	if *given < 1 || *given > most {
		return 0, admin.NewInputError(fmt.Sprintf("%s is %d; allowed: 1 to %d", name, *given, most))
	}
	return *given, nil
}

// named is a text of a body, and "" where it is left out, which means all of them.
func named(name string, given *string) (string, error) {
	if given == nil {
		return "", nil
	}
	if *given == "" {
		return "", admin.NewInputError(name + " is empty; leave it out for all of them")
	}
	return *given, nil
}
