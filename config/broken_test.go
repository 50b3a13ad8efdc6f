package config_test

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata/broken")

// The first line of a golden file says what kind of fault the file has: one
// that the JSON Schema sees too, one that only lint sees, or one for which there
// is nothing to hold against a schema.
const (
	structural = "# structural"
	lintOnly   = "# lint only"
	unreadable = "# unreadable"
)

// variables are the environment of the files in testdata.
func variables(name string) (string, bool) {
	value, ok := map[string]string{
		"EMPTY":             "",
		"API_TOKEN":         "token-from-the-environment",
		"MAIL_TOKEN":        "mail",
		"DB_PASSWORD":       "password-from-the-environment",
		"URL_WITH_PASSWORD": "ws://root:hunter2@db.example.com:8000",
	}[name]
	return value, ok
}

func brokenFiles(tb testing.TB) []string {
	tb.Helper()
	files, err := filepath.Glob("testdata/broken/*.yml")
	if err != nil {
		tb.Fatal(err)
	}
	if len(files) < 30 {
		tb.Fatalf("found %d broken files", len(files))
	}
	return files
}

// golden returns the kind of a broken file and the findings it should have.
func golden(tb testing.TB, file string) (kind, findings string) {
	tb.Helper()
	content, err := os.ReadFile(strings.TrimSuffix(file, ".yml") + ".golden")
	if err != nil {
		if *update {
			return "", ""
		}
		tb.Fatal(err)
	}
	kind, findings, _ = strings.Cut(string(content), "\n")
	return kind, findings
}

func TestBrokenFiles(t *testing.T) {
	t.Parallel()
	for _, file := range brokenFiles(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yml"), func(t *testing.T) {
			t.Parallel()
			report := config.Lint(file, config.Options{Env: variables})
			var got strings.Builder
			for _, f := range report.Findings() {
				line := string(f.Severity) + " " + strings.ReplaceAll(f.String(), "testdata/broken/", "")
				if strings.Contains(line, "hunter2") || strings.Contains(line, "secret@") {
					t.Errorf("a secret is shown: %s", line)
				}
				if f.Remedy == "" {
					t.Errorf("no remedy: %s", line)
				}
				got.WriteString(line + "\n")
			}
			kind, want := golden(t, file)
			if *update {
				if kind == "" {
					kind = guessKind(t, file)
				}
				if err := os.WriteFile(strings.TrimSuffix(file, ".yml")+".golden", []byte(kind+"\n"+got.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got.String() != want {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want)
			}
			if got.Len() == 0 {
				t.Error("a broken file has no findings")
			}
			loads(t, file, report)
		})
	}
}

// loads checks that Load refuses exactly the files for which Lint has errors,
// but for files that only lint looks at.
func loads(t *testing.T, file string, report config.Report) {
	t.Helper()
	_, err := config.Load(config.Options{Path: file, Env: variables})
	name := filepath.Base(file)
	onlyLint := name == "deploy-files.yml" || name == "schema-missing.yml"
	if wantErr := !report.OK() && !onlyLint; (err != nil) != wantErr {
		t.Errorf("Load returns %v, Lint %v", err, report.Errors)
	}
}

func guessKind(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	document, ok := config.ToJSON(content)
	switch {
	case !ok:
		return unreadable
	case compileSchema(t).Validate(document) != nil:
		return structural
	}
	return lintOnly
}
