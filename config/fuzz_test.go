package config_test

import (
	"os"
	"path/filepath"
	"testing"

	"sp00ky.cloud/spky/config"
)

// FuzzLoad feeds any text as sp00ky.yml: nothing panics, a file is either valid
// or has errors, and Load and Lint agree. The schema agrees with lint on valid
// files as far as it can see.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/broken/*.yml", "testdata/good/*/sp00ky.yml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(content)
		}
	}
	schema := compileSchema(f)
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, content []byte) {
		file, err := os.CreateTemp(dir, "*.yml")
		if err != nil {
			t.Fatal(err)
		}
		defer os.Remove(file.Name())
		if _, err := file.Write(content); err != nil {
			t.Fatal(err)
		}
		if err := file.Close(); err != nil {
			t.Fatal(err)
		}
		opts := config.Options{Path: file.Name(), Env: variables}
		report := config.Lint("", opts)
		loaded, err := config.Load(opts)
		if err == nil && loaded == nil || err != nil && report.OK() {
			t.Errorf("Load returns %v, Lint %v", err, report.Errors)
		}
		for _, finding := range report.Findings() {
			if finding.Message == "" || finding.Remedy == "" || finding.File == "" {
				t.Errorf("%+v", finding)
			}
		}
		document, ok := config.ToJSON(content)
		if ok && len(report.Findings()) == 0 {
			if err := schema.Validate(document); err != nil {
				t.Errorf("lint finds nothing, but: %v", err)
			}
		}
	})
}

// FuzzAddAPI adds an app to any text: it is refused, or the result loads with
// the findings it had.
func FuzzAddAPI(f *testing.F) {
	for _, text := range []string{"", "apps:\n  a: {type: docker}\n# end\n", "{apps: {}}", "apps: &x {a: 'b'}\r\n", "apps: |\n  x\n", "\"apps\" : { } # x"} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		got, err := config.AddAPI(src, config.AddAPIOptions{Name: "fuzzed", Spec: "s.yml", Table: "fuzzed"})
		if err != nil {
			return
		}
		if _, err := config.AddAPI(got, config.AddAPIOptions{Name: "fuzzed", Spec: "s.yml"}); err == nil {
			t.Errorf("the app is not there:\n%s", got)
		}
	})
}
