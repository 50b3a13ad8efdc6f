package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	for says, line := range map[string]string{
		`unknown command "nope"`:                   "nope",
		"did you mean list":                        "jobs lst",
		"unknown flag: --nope":                     "jobs list --nope",
		"jobs get: the id of a job is missing":     "jobs get",
		`jobs get: "b" is one argument too many`:   "jobs get a b",
		"jobs cancel: the id of a job is missing":  "jobs cancel",
		`--status is "odd"; allowed: pending`:      "jobs list --status odd",
		"--limit is 0":                             "jobs list --limit 0",
		"--table: table name":                      "jobs list --table Nope",
		"--path is missing":                        "jobs create",
		"it has to start with one /":               "jobs create --path http://evil/",
		"must not contain a .. segment":            "jobs create --path /a/%2e%2e/b",
		"is kept for the platform":                 "jobs create --path /__spky/workflow/x",
		"--payload: from JSON":                     "jobs create --path /echo --payload {",
		"no such file":                             "jobs create --path /echo --payload @/nowhere.json",
		"--max-retries is 0; allowed: 1 to 100":    "jobs create --path /echo --max-retries 0",
		`--timeout is "0s"; allowed: 1s to 1h`:     "jobs create --path /echo --timeout 0s",
		`--timeout is "0"; allowed: 1s to 1h`:      "jobs create --path /echo --timeout 0",
		"--table is empty":                         "jobs clear --table=",
		"--max-retries is 1000":                    "jobs create --path /echo --max-retries 1000",
		`--retry-strategy is "odd"`:                "jobs create --path /echo --retry-strategy odd",
		`--delay is "soon"`:                        "jobs create --path /echo --delay soon",
		`--timeout is "2h"`:                        "jobs create --path /echo --timeout 2h",
		"--assigned-to":                            "jobs create --path /echo --assigned-to nobody",
		"--path /other is no POST route":           "jobs create --path /other",
		"--timeout has no effect":                  "jobs create --path /echo --timeout 5s",
		`has no backend "odd"`:                     "jobs create --path /echo --backend odd",
		"--id other:1 is not of table job":         "jobs create --path /echo --id other:1",
		`--log-format is "odd"`:                    "run --log-format odd",
		"--password-from-env names SPKY_TEST_NONE": "devdb --password-from-env SPKY_TEST_NONE",
		"add api: \"x\" is one argument too many":  "add api x",
		"--spec is missing":                        "add api --name other",
		"listens on loopback only":                 "dev --db-listen 0.0.0.0:8666",
	} {
		p.want(exitUsage, says, strings.Fields(line)...)
	}
	p.want(exitUsage, "the key is empty; leave it out", "schedules", "release", "nightly", "")
}

func TestUsageErrorsPointAtTheHelp(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.want(exitUsage, "hint: `spky jobs list --help` shows how it is used", "jobs", "list", "--nope")
}

func TestUnreachableDatabase(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.set("SPKY_DB_URL", "ws://127.0.0.1:1")
	for _, line := range []string{"jobs list", "jobs get job:1", "nodes", "migrate", "migrate status", "jobs watch"} {
		p.want(exitUnreachable, "hint: check --db-url", strings.Fields(line)...)
	}
}

func TestRefusedSignIn(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.want(exitUnreachable, "SPKY_DB_PASS", "--db-pass", "wrong", "jobs", "list")
	_, _, stderr := p.run("--db-pass", "s3cret-wrong", "jobs", "list")
	if strings.Contains(stderr, "s3cret-wrong") {
		t.Errorf("the password is shown: %s", stderr)
	}
}

func TestFlagsWinOverTheEnvironment(t *testing.T) {
	t.Parallel()
	p := migrated(t, "http://127.0.0.1:1")
	p.set("SPKY_DB_URL", "ws://127.0.0.1:1")
	p.must("jobs", "list", "--db-url", p.target.Endpoint)
}

// TestEveryCommandIsDocumented walks the whole command line.
func TestEveryCommandIsDocumented(t *testing.T) {
	t.Parallel()
	root := newRootCommand(&program{env: func(string) (string, bool) { return "", false }})
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if !c.Hidden && c.Short == "" {
			t.Errorf("%s has no short help", c.CommandPath())
		}
		for line := range strings.SplitSeq(c.Long, "\n") {
			if len([]rune(line)) > 82 {
				t.Errorf("%s: a line of its help is %d wide: %s", c.CommandPath(), len([]rune(line)), line)
			}
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	for _, line := range []string{
		"jobs list", "jobs get", "jobs watch", "nodes", "doctor", "lint", "migrate status", "migrate plan", "version",
		"workflows list", "workflows describe", "workflows instances list", "workflows instances describe", "workflows instances watch",
	} {
		cmd, _, err := root.Find(strings.Fields(line))
		if err != nil || cmd.Flags().Lookup("json") == nil {
			t.Errorf("%s has no --json: %v", line, err)
		}
	}
}

func TestHelpNamesTheExitCodes(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	if out := p.must("help", "exit-codes"); !strings.Contains(out, "130  interrupted") {
		t.Errorf("help exit-codes says %s", out)
	}
}

func TestCompletions(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	for line, want := range map[string]string{
		"__complete jobs list --status ":           "cancelled",
		"__complete jobs list --table ":            "job",
		"__complete jobs create --backend ":        "api",
		"__complete jobs ":                         "watch",
		"__complete --log-format ":                 "json",
		"__complete jobs create --retry-strategy ": "exponential",
	} {
		args := append([]string{"--config", p.config}, strings.Split(line, " ")...)
		args = append([]string{args[2]}, append(args[:2:2], args[3:]...)...) // __complete comes first
		var out, errs strings.Builder
		program := &program{in: strings.NewReader(""), out: &out, err: &errs, env: p.lookup}
		if code := program.run(t.Context(), args); code != exitOK || !strings.Contains(out.String(), want) {
			t.Errorf("%s: %d, want %q in %s", line, code, want, out.String())
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	got := decode[build](p, "version")
	if got.Module != modulePath || got.Version == "" || !strings.HasPrefix(got.Go, "go1.") {
		t.Errorf("version %+v", got)
	}
}
