package dev

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"

	"sp00ky.cloud/spky/config"
)

// example is a route of a backend and a body that it takes, as far as its OpenAPI
// document gives examples. It is only shown to the user.
func example(spec *config.Spec) (path, payload string) {
	const nothing = "{}"
	if spec == nil || len(spec.Routes()) == 0 {
		return "/", nothing
	}
	route := spec.Routes()[0]
	path = parameter.ReplaceAllString(route, "1")
	content, err := os.ReadFile(spec.File)
	if err != nil {
		return path, nothing
	}
	var document map[string]any
	if err := yaml.Unmarshal(content, &document); err != nil {
		return path, nothing
	}
	body, ok := requestExample(content, document, route)
	if !ok {
		return path, nothing
	}
	text, err := json.Marshal(body)
	if err != nil {
		return path, nothing
	}
	return path, string(text)
}

var parameter = regexp.MustCompile(`\{[^}]*\}`)

var shellSafe = regexp.MustCompile(`^[A-Za-z0-9_./-]+$`)

func quoteIfNeeded(text string) string {
	if shellSafe.MatchString(text) {
		return text
	}
	return quote(text)
}

func requestExample(content []byte, document map[string]any, route string) (any, bool) {
	media := dig(document, document, "paths", route, "post", "requestBody", "content", "application/json")
	if media == nil {
		return nil, false
	}
	if value, ok := media["example"]; ok {
		return value, true
	}
	if name, ok := firstExample(content, route); ok {
		if one := dig(document, media, "examples", name); one != nil {
			value, ok := one["value"]
			return value, ok
		}
	}
	schema := dig(document, media, "schema")
	if schema == nil {
		return nil, false
	}
	return schemaExample(document, schema, 5)
}

// dig follows keys into nested objects, and references on the way; nil where
// there is nothing.
func dig(document, from map[string]any, keys ...string) map[string]any {
	at := from
	for _, key := range keys {
		next, _ := at[key].(map[string]any)
		if next == nil {
			return nil
		}
		at = resolve(document, next)
	}
	return at
}

// resolve follows a reference within the document.
func resolve(document, at map[string]any) map[string]any {
	for range 10 {
		ref, ok := at["$ref"].(string)
		if !ok {
			return at
		}
		target := document
		for key := range strings.SplitSeq(strings.TrimPrefix(ref, "#/"), "/") {
			target, _ = target[key].(map[string]any)
		}
		if target == nil {
			return nil
		}
		at = target
	}
	return nil
}

// firstExample is the name of the first of several examples, in the order of the
// file, which a map has lost.
func firstExample(content []byte, route string) (string, bool) {
	var node yaml.Node
	if yaml.Unmarshal(content, &node) != nil || len(node.Content) == 0 {
		return "", false
	}
	at := node.Content[0]
	for _, key := range []string{"paths", route, "post", "requestBody", "content", "application/json", "examples"} {
		if at = member(at, key); at == nil {
			return "", false
		}
	}
	if at.Kind != yaml.MappingNode || len(at.Content) == 0 {
		return "", false
	}
	return at.Content[0].Value, true
}

func member(node *yaml.Node, key string) *yaml.Node {
	for i := 0; node.Kind == yaml.MappingNode && i+1 < len(node.Content); i += 2 {
		if node.Content[i].Value == key {
			return node.Content[i+1]
		}
	}
	return nil
}

// schemaExample makes a value of a schema: its example or default, the first of
// its enumeration, an object of its required properties, or the simplest value
// of its type.
func schemaExample(document, schema map[string]any, depth int) (any, bool) {
	schema = resolve(document, schema)
	if schema == nil || depth == 0 {
		return nil, false
	}
	for _, key := range []string{"example", "default", "const"} {
		if value, ok := schema[key]; ok {
			return value, true
		}
	}
	for _, key := range []string{"examples", "enum"} {
		if list, ok := schema[key].([]any); ok && len(list) > 0 {
			return list[0], true
		}
	}
	switch schema["type"] {
	case "string":
		return "text", true
	case "integer", "number":
		return 1, true
	case "boolean":
		return true, true
	case "array":
		return []any{}, true
	case "object":
		return objectExample(document, schema, depth), true
	}
	return nil, false
}

func objectExample(document, schema map[string]any, depth int) map[string]any {
	object := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range required {
		name, _ := name.(string)
		property, _ := properties[name].(map[string]any)
		if value, ok := schemaExample(document, property, depth-1); ok {
			object[name] = value
		}
	}
	return object
}
