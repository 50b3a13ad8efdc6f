package config_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"

	"sp00ky.cloud/spky/config"
)

// app is what AddAPI inserts with default options and a spec, in block style.
const app = `  api:
    type: backend
    spec: openapi.yml
    baseUrl: http://localhost:3000
    method:
      type: outbox
      table: job
      schema: ./src/outbox/api.surql
`

const flowApp = `api: {type: backend, spec: openapi.yml, baseUrl: "http://localhost:3000", method: {type: outbox, table: job, schema: ./src/outbox/api.surql}}`

func TestAddAPI(t *testing.T) {
	t.Parallel()
	deep := strings.ReplaceAll(app, "  ", "    ")
	crlf := strings.ReplaceAll(app, "\n", "\r\n")
	for name, c := range map[string]struct{ src, want string }{
		"empty file":           {"", "apps:\n" + app},
		"only a comment":       {"# mine\n", "# mine\napps:\n" + app},
		"comment, no line end": {"# mine", "# mine\napps:\n" + app},
		"no apps":              {"mode: cluster # why\n", "mode: cluster # why\napps:\n" + app},
		"no line end":          {"mode: cluster", "mode: cluster\napps:\n" + app},
		"document marks":       {"---\nmode: cluster\n...\n", "---\nmode: cluster\napps:\n" + app + "...\n"},
		"apps without value":   {"apps:\nmode: cluster\n", "apps:\n" + app + "mode: cluster\n"},
		"apps with comments":   {"apps: # none yet\n  # here\n\nmode: cluster\n", "apps: # none yet\n" + app + "  # here\n\nmode: cluster\n"},
		"apps is null":         {"apps: null # none\nmode: cluster\n", "apps:  # none\n" + app + "mode: cluster\n"},
		"apps is a tilde":      {"apps: ~\n", "apps:\n" + app},
		"apps is empty":        {"apps: {}\nmode: cluster\n", "apps:\n" + app + "mode: cluster\n"},
		"empty and a comment":  {"apps: {} # none\n", "apps:  # none\n" + app},
		"apps, no line end":    {"apps:", "apps:\n" + app},
		"behind the last": {
			"apps:\n  web:\n    type: frontend # first\n\n# next\nmode: cluster\n",
			"apps:\n  web:\n    type: frontend # first\n" + app + "\n# next\nmode: cluster\n",
		},
		"comment of the app": {
			"apps:\n  web:\n    type: docker\n    # port: 1\n  # more to come\nmode: cluster\n",
			"apps:\n  web:\n    type: docker\n    # port: 1\n  # more to come\n" + app + "mode: cluster\n",
		},
		"behind a block text": {
			"apps:\n  web:\n    type: docker\n    args: |+\n      a\n\nmode: cluster\n",
			"apps:\n  web:\n    type: docker\n    args: |+\n      a\n\n" + app + "mode: cluster\n",
		},
		"at the end":           {"apps:\n  web: {type: docker}", "apps:\n  web: {type: docker}\n" + app},
		"four blanks":          {"apps:\n    web:\n        type: docker\n", "apps:\n    web:\n        type: docker\n" + deep},
		"windows line ends":    {"mode: cluster\r\napps:\r\n  web: {type: docker}\r\n\r\nslug: ab\r\n", "mode: cluster\r\napps:\r\n  web: {type: docker}\r\n" + crlf + "\r\nslug: ab\r\n"},
		"byte order mark":      {"\ufeffapps:\n  web: {type: docker}\n", "\ufeffapps:\n  web: {type: docker}\n" + app},
		"mark and no apps":     {"\ufeff", "\ufeffapps:\n" + app},
		"unknown keys":         {"webhooks: [a]\nx-mine: {b: 1}\n", "webhooks: [a]\nx-mine: {b: 1}\napps:\n" + app},
		"flow":                 {"apps: {web: {type: docker}} # flow\n", "apps: {web: {type: docker}, " + flowApp + "} # flow\n"},
		"flow, comma":          {"apps: { web: {type: docker}, }\n", "apps: { web: {type: docker}, " + flowApp + " }\n"},
		"flow over lines":      {"apps: {\n  web: {type: \"}\"}, # }\n}\n", "apps: {\n  web: {type: \"}\"}, " + flowApp + " # }\n}\n"},
		"empty flow with text": {"apps: {\n  # none\n}\n", "apps: {" + flowApp + "\n  # none\n}\n"},
		"all flow":             {"{mode: cluster}\n", "{mode: cluster, apps: {" + flowApp + "}}\n"},
		"nothing but flow":     {"{}", "{apps: {" + flowApp + "}}"},
		"json":                 {"{\"apps\": {\"it's\": {\"type\": \"docker\"}}}", "{\"apps\": {\"it's\": {\"type\": \"docker\"}, " + flowApp + "}}"},
		"anchor":               {"apps: &all\n  web: {type: docker}\n", "apps: &all\n  web: {type: docker}\n" + app},
		"indented":             {"  mode: cluster\n", "  mode: cluster\n  apps:\n" + strings.TrimSuffix(strings.ReplaceAll("  "+app, "\n", "\n  "), "  ")},
	} {
		got, err := config.AddAPI([]byte(c.src), config.AddAPIOptions{Spec: "openapi.yml"})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if string(got) != c.want {
			t.Errorf("%s: got\n%q\nwant\n%q", name, got, c.want)
		}
	}
}

func TestAddAPIWritesWhatWasAsked(t *testing.T) {
	t.Parallel()
	got, err := config.AddAPI([]byte("apps: {web: {type: docker}}\n"), config.AddAPIOptions{
		Name: "mail: \"x\"", Spec: "docs/open api.yml", BaseURL: "http://${HOST:-127.0.0.1}:1", AuthToken: "${TOKEN}", Table: "mail_job", SchemaPath: "a, b.surql",
	})
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Apps map[string]map[string]any }
	if err := yaml.Unmarshal(got, &file); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"type": "backend", "spec": "docs/open api.yml", "baseUrl": "http://${HOST:-127.0.0.1}:1",
		"auth":   map[string]any{"type": "token", "token": "${TOKEN}"},
		"method": map[string]any{"type": "outbox", "table": "mail_job", "schema": "a, b.surql"},
	}
	if app := file.Apps[`mail: "x"`]; !reflect.DeepEqual(app, want) {
		t.Errorf("got %v", app)
	}
}

func TestAddAPIRefuses(t *testing.T) {
	t.Parallel()
	good := config.AddAPIOptions{Spec: "openapi.yml"}
	for name, c := range map[string]struct {
		src    string
		change func(*config.AddAPIOptions)
		want   string
	}{
		"taken name":      {src: "apps:\n  api: {type: docker}\n", want: "an app of this name exists"},
		"taken in flow":   {src: "apps: {api: {type: docker}}\n", want: "an app of this name exists"},
		"broken file":     {src: "apps: [\n", want: "does not parse"},
		"duplicate key":   {src: "apps: {}\napps: {}\n", want: "appears twice"},
		"two documents":   {src: "a: 1\n---\nb: 2\n", want: "second YAML document"},
		"a list":          {src: "apps: [a]\n", want: "not a mapping"},
		"a text":          {src: "apps: later\n", want: "not a mapping"},
		"an alias":        {src: "x: &x {a: {type: docker}}\napps: *x\n", want: "alias"},
		"root is a tilde": {src: "~\n", want: "by hand"},
		"no spec":         {change: func(o *config.AddAPIOptions) { o.Spec = "" }, want: "spec is empty"},
		"bad table":       {change: func(o *config.AddAPIOptions) { o.Table = "my-job" }, want: "table name"},
		"platform table":  {change: func(o *config.AddAPIOptions) { o.Table = "_00_job" }, want: "table name"},
		"bad auth":        {change: func(o *config.AddAPIOptions) { o.AuthType = "basic" }, want: "auth type"},
		"no token":        {change: func(o *config.AddAPIOptions) { o.AuthType = "token" }, want: "auth token"},
		"bad url":         {change: func(o *config.AddAPIOptions) { o.BaseURL = "localhost:3000" }, want: "base URL"},
		"line break":      {change: func(o *config.AddAPIOptions) { o.Name = "a\nb" }, want: "name is empty or has a control"},
	} {
		o := good
		if c.change != nil {
			c.change(&o)
		}
		got, err := config.AddAPI([]byte(c.src), o)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
		if strings.HasPrefix(name, "taken") != errors.Is(err, config.ErrAppExists) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestAddAPIKeepsEveryByte takes the files of testdata: what is added is one
// piece, and the app loads.
func TestAddAPIKeepsEveryByte(t *testing.T) {
	t.Parallel()
	for _, file := range goodFiles(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range []string{string(src), strings.ReplaceAll(string(src), "\n", "\r\n")} {
			got, err := config.AddAPI([]byte(text), config.AddAPIOptions{Name: "added", Spec: "openapi.yml", Table: "added_job"})
			if err != nil {
				t.Errorf("%s: %v", file, err)
				continue
			}
			if strings.HasPrefix(text, "apps: {}") {
				continue // the braces go
			}
			insertedOnce(t, file, text, string(got))
		}
	}
}

// insertedOnce checks that after is before with one piece put in.
func insertedOnce(tb testing.TB, name, before, after string) {
	tb.Helper()
	n := 0
	for n < len(before) && n < len(after) && before[n] == after[n] {
		n++
	}
	if len(after) <= len(before) || !strings.HasSuffix(after, before[n:]) {
		tb.Errorf("%s: more than one piece has changed:\n%s", name, after)
	}
}

func TestAddAPIRefusesATableThatIsTaken(t *testing.T) {
	t.Parallel()
	first, err := config.AddAPI(nil, config.AddAPIOptions{Name: "mail", Spec: "spec.yml"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := config.AddAPI(first, config.AddAPIOptions{Name: "other", Spec: "spec.yml"}); err == nil || !strings.Contains(err.Error(), "apps.mail") {
		t.Errorf("the default table twice: %v", err)
	}
}

// TestAddAPITwice adds any number of apps with any options: each is there, and
// the file still parses.
func TestAddAPITwice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		src := rapid.SampledFrom([]string{"", "apps: {}\n", "mode: cluster\n", "apps: {w: {type: docker}}\n", "a: 1\r\napps:\r\n    w:\r\n        type: docker\r\n# end\r\n"}).Draw(t, "src")
		text := rapid.StringMatching(`[ -~äß]{0,8}[!-~]`)
		name := text.Filter(func(s string) bool { return s != "w" })
		names := rapid.SliceOfNDistinct(name, 1, 4, func(s string) string { return s }).Draw(t, "names")
		file := []byte(src)
		for i, name := range names {
			o := config.AddAPIOptions{Name: name, Table: fmt.Sprintf("job_%d", i), Spec: text.Draw(t, "spec"), SchemaPath: text.Draw(t, "schema"), AuthToken: text.Draw(t, "token")}
			next, err := config.AddAPI(file, o)
			if err != nil {
				t.Fatalf("%q to %q: %v", name, file, err)
			}
			file = next
		}
		var parsed struct{ Apps map[string]map[string]any }
		if err := yaml.Unmarshal(file, &parsed); err != nil {
			t.Fatalf("%v\n%s", err, file)
		}
		for _, name := range names {
			if parsed.Apps[name]["type"] == nil {
				t.Fatalf("%q is not in\n%s", name, file)
			}
		}
	})
}
