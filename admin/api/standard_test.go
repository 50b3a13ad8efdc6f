package api

import (
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// TestTheDocumentIsOpenAPI holds the document against the schema that the OpenAPI Initiative publishes for
// version 3.1 (Apache License 2.0), and every schema in it against JSON Schema's own.
func TestTheDocumentIsOpenAPI(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	standard, err := os.Open("testdata/openapi-3.1.schema.json")
	r.check(err)
	defer standard.Close()
	parsed, err := jsonschema.UnmarshalJSON(standard)
	r.check(err)
	c := jsonschema.NewCompiler()
	r.check(c.AddResource("https://spec.openapis.org/oas/3.1/schema/2022-10-07", parsed))
	schema, err := c.Compile("https://spec.openapis.org/oas/3.1/schema/2022-10-07")
	r.check(err)
	got := r.ask(asked{method: http.MethodGet, path: "/admin/api/openapi.json"})
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(got.text))
	r.check(err)
	if err := schema.Validate(document); err != nil {
		t.Errorf("%v", err)
	}
	part := jsonschema.NewCompiler()
	part.DefaultDraft(jsonschema.Draft2020)
	r.check(part.AddResource("openapi.json", document))
	for name := range document.(map[string]any)["components"].(map[string]any)["schemas"].(map[string]any) {
		if _, err := part.Compile("openapi.json#/components/schemas/" + name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
