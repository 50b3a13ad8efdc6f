package config_test

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

// TestOutboxLint changes one thing of a good outbox and looks for the warning.
func TestOutboxLint(t *testing.T) {
	t.Parallel()
	good, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		old, replacement string
		want             string // "" for no warning
	}{
		"as generated":           {"", "", ""},
		"other table":            {"TABLE OVERWRITE job", "TABLE OVERWRITE task", "found no DEFINE TABLE job"},
		"quoted table":           {"TABLE OVERWRITE job", "TABLE OVERWRITE `job`", ""},
		"commented table":        {"DEFINE TABLE", "-- DEFINE TABLE", "found no DEFINE TABLE job"},
		"payload object":         {"payload ON TABLE job TYPE any", "payload ON TABLE job TYPE option<object>", "payload of type option<object>"},
		"created_at moves":       {"DEFAULT time::now() READONLY", "VALUE time::now()", "created_at VALUE time::now()"},
		"errors not flexible":    {"TYPE object FLEXIBLE", "TYPE object", ""},
		"errors of any":          {"TYPE object FLEXIBLE", "TYPE any", ""},
		"errors not overwritten": {"FIELD OVERWRITE errors[*]", "FIELD errors[*]", "errors[*] without OVERWRITE"},
		"errors if not exists":   {"FIELD OVERWRITE errors[*]", "FIELD IF NOT EXISTS errors[*]", "errors[*] without OVERWRITE"},
		"errors missing":         {"DEFINE FIELD OVERWRITE errors[*]", "-- DEFINE FIELD OVERWRITE errors[*]", ""},
		"errors a plain array":   {"TYPE array<object> DEFAULT []", "TYPE array DEFAULT []", ""},
		"assigned_to mandatory":  {"TYPE option<record>", "TYPE record<user>", "assigned_to of type record<user>"},
		"assigned_to or none":    {"TYPE option<record>", "TYPE none | record<user>", ""},
		"no default":             {"TYPE int DEFAULT ALWAYS 0", "TYPE int", "retries of type int"},
		"mandatory extra":        {"-- The body of the request", "DEFINE FIELD tenant ON job TYPE string;\n--", "tenant of type string"},
		"nosync":                 {"-- The outbox", "-- @nosync\n-- The outbox", "@nosync"},
		"column missing":         {"DEFINE FIELD OVERWRITE path", "-- DEFINE FIELD OVERWRITE path", "without the columns path"},
		"schemaless":             {"SCHEMAFULL", "SCHEMALESS", ""},
	} {
		if !strings.Contains(good, c.old) {
			t.Fatalf("%s: the template does not have %q", name, c.old)
		}
		path := write(t, map[string]string{
			"sp00ky.yml":  "apps: {api: {type: backend, spec: openapi.yml, baseUrl: \"http://h\", method: {type: outbox, schema: job.surql, table: job}}}\n",
			"openapi.yml": "openapi: 3.1.0\npaths: {/run: {post: {}}}\n",
			"job.surql":   strings.ReplaceAll(good, c.old, c.replacement),
		})
		r := config.Lint(path, config.Options{Env: env(nil)})
		switch {
		case !r.OK():
			t.Errorf("%s: %v", name, r.Errors)
		case c.want == "" && len(r.Warnings) != 0:
			t.Errorf("%s: got %v", name, r.Warnings)
		case c.want != "" && (len(r.Warnings) != 1 || !strings.Contains(r.Warnings[0].Message, c.want)):
			t.Errorf("%s: got %v", name, r.Warnings)
		case c.want != "" && (!strings.HasSuffix(r.Warnings[0].File, "job.surql") || r.Warnings[0].Key != "apps.api.method.schema"):
			t.Errorf("%s: got %+v", name, r.Warnings[0])
		}
	}
}
