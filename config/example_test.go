package config_test

import (
	"fmt"
	"path/filepath"
	"testing"

	"sp00ky.cloud/spky/config"
)

func ExampleLoad() {
	c, err := config.Load(config.Options{
		Path:  "testdata/good/stages/sp00ky.yml",
		Stage: config.StageCloud,
		Env: func(name string) (string, bool) {
			return "s3cret", name == "API_TOKEN"
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range c.Runnable() {
		fmt.Println(b.Name, b.Table, b.BaseURL, b.AuthToken, b.AllowsPath("/run"), b.AllowsPath("/admin"))
	}
	// Output: hosted job https://api.example.com *** true false
}

func ExampleLint() {
	report := config.Lint("testdata/broken/mode.yml", config.Options{})
	for _, f := range report.Errors {
		fmt.Println(f)
	}
	// Output: testdata/broken/mode.yml:1:7: mode: found the text "clustr", allowed: singlenode, cluster; did you mean `cluster`?
}

// TestAddedBackendIsClean does what `spky add api` does in an empty directory.
func TestAddedBackendIsClean(t *testing.T) {
	t.Parallel()
	schema, err := config.OutboxSchema("job", config.OutboxOptions{Backend: "api"})
	if err != nil {
		t.Fatal(err)
	}
	file, err := config.AddAPI(nil, config.AddAPIOptions{Spec: "openapi.yml", AuthToken: "${TOKEN}"})
	if err != nil {
		t.Fatal(err)
	}
	path := write(t, map[string]string{
		config.DefaultFile: string(file), filepath.Join("src", "outbox", "api.surql"): schema,
		"openapi.yml": "openapi: 3.1.0\npaths: {/run: {post: {}}}\n",
	})
	opts := config.Options{Env: env(map[string]string{"TOKEN": "t"})}
	if r := config.Lint(path, opts); len(r.Findings()) != 0 {
		t.Errorf("got %v", r.Findings())
	}
	document, _ := config.ToJSON(file)
	if err := compileSchema(t).Validate(document); err != nil {
		t.Error(err)
	}
}
