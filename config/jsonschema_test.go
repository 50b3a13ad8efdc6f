package config_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"sp00ky.cloud/spky/config"
)

func compileSchema(tb testing.TB) *jsonschema.Schema {
	tb.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.JSONSchema()))
	if err != nil {
		tb.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("sp00ky.schema.json", document); err != nil {
		tb.Fatal(err)
	}
	schema, err := c.Compile("sp00ky.schema.json")
	if err != nil {
		tb.Fatal(err)
	}
	return schema
}

func TestSchemaAgreesWithLint(t *testing.T) {
	t.Parallel()
	schema := compileSchema(t)
	for _, file := range goodFiles(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		document, ok := config.ToJSON(content)
		if !ok {
			t.Fatalf("%s does not parse", file)
		}
		if err := schema.Validate(document); err != nil {
			t.Errorf("%s is good, but: %v", file, err)
		}
	}
	count := make(map[string]int)
	for _, file := range brokenFiles(t) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		kind, _ := golden(t, file)
		count[kind]++
		document, ok := config.ToJSON(content)
		if ok == (kind == unreadable) {
			t.Errorf("%s is marked %q, parses: %v", file, kind, ok)
		}
		if !ok {
			continue
		}
		if invalid := schema.Validate(document) != nil; invalid != (kind == structural) {
			t.Errorf("%s is marked %q, refused by the schema: %v", file, kind, invalid)
		}
	}
	for _, kind := range []string{structural, lintOnly, unreadable} {
		if count[kind] == 0 {
			t.Errorf("no broken file is marked %q", kind)
		}
	}
}

// TestSchemaKnowsTheKeys compares the keys that lint knows with those of the
// schema, object by object.
func TestSchemaKnowsTheKeys(t *testing.T) {
	t.Parallel()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(config.JSONSchema()))
	if err != nil {
		t.Fatal(err)
	}
	var inSchema [][]string
	var collect func(v any)
	collect = func(v any) {
		switch v := v.(type) {
		case map[string]any:
			if properties, ok := v["properties"].(map[string]any); ok && v["type"] != nil {
				inSchema = append(inSchema, slices.Sorted(maps.Keys(properties)))
			}
			for _, child := range v {
				collect(child)
			}
		case []any:
			for _, child := range v {
				collect(child)
			}
		}
	}
	collect(document)
	known := config.KnownKeys()
	if len(known) < 20 {
		t.Fatalf("found %d structs", len(known))
	}
	for name, keys := range known {
		slices.Sort(keys)
		if !slices.ContainsFunc(inSchema, func(s []string) bool { return slices.Equal(s, keys) }) {
			t.Errorf("no object of the schema has the keys of %s: %v", name, keys)
		}
	}
}

func goodFiles(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/good/*/sp00ky.yml")
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) < 4 {
		tb.Fatalf("found %d good files", len(files))
	}
	return files
}
