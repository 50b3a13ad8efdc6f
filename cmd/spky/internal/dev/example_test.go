package dev

import (
	"os"
	"path/filepath"
	"testing"

	"sp00ky.cloud/spky/config"
)

func TestExample(t *testing.T) {
	t.Parallel()
	const head = "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths:\n  /x/{id}:\n    post:\n      responses: {'200': {description: ok}}\n"
	const body = head + "      requestBody:\n        content:\n          application/json:\n"
	for name, c := range map[string]struct{ spec, payload string }{
		"no body":           {head, `{}`},
		"example":           {body + "            example: {b: 1, a: [x]}\n", `{"a":["x"],"b":1}`},
		"first example":     {body + "            examples:\n              z: {value: {n: 1}}\n              a: {value: {n: 2}}\n", `{"n":1}`},
		"schema":            {body + "            schema: {type: object, required: [s, n, e, d, l, o], properties: {s: {type: string}, n: {type: integer}, e: {enum: [x, y]}, d: {default: 7}, l: {type: array}, o: {type: object}, optional: {type: string}}}\n", `{"d":7,"e":"x","l":[],"n":1,"o":{},"s":"text"}`},
		"reference":         {body + "            schema: {$ref: '#/components/schemas/X'}\ncomponents: {schemas: {X: {example: {from: there}}}}\n", `{"from":"there"}`},
		"broken reference":  {body + "            schema: {$ref: '#/components/nothing'}\n", `{}`},
		"endless reference": {body + "            schema: {$ref: '#/components/schemas/X'}\ncomponents: {schemas: {X: {$ref: '#/components/schemas/X'}}}\n", `{}`},
		"recursive schema":  {body + "            schema: {$ref: '#/components/schemas/X'}\ncomponents: {schemas: {X: {type: object, required: [x], properties: {x: {$ref: '#/components/schemas/X'}}}}}\n", `{"x":{"x":{"x":{"x":{}}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "openapi.yml")
			if err := os.WriteFile(file, []byte(c.spec), 0o644); err != nil {
				t.Fatal(err)
			}
			spec, err := config.ParseSpec(file, []byte(c.spec))
			if err != nil {
				t.Fatal(err)
			}
			path, payload := example(spec)
			if path != "/x/1" || payload != c.payload {
				t.Errorf("example %s %s, want /x/1 %s", path, payload, c.payload)
			}
		})
	}
	if path, payload := example(nil); path != "/" || payload != "{}" {
		t.Errorf("example of nothing is %s %s", path, payload)
	}
}
