package config_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
)

// write puts files into a directory of the test's own and returns the path of
// its sp00ky.yml.
func write(tb testing.TB, files map[string]string) string {
	tb.Helper()
	dir := tb.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			tb.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			tb.Fatal(err)
		}
	}
	return filepath.Join(dir, config.DefaultFile)
}

func env(vars map[string]string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		value, ok := vars[name]
		return value, ok
	}
}

func mustLoad(tb testing.TB, opts config.Options) *config.Config {
	tb.Helper()
	if opts.Env == nil {
		opts.Env = env(nil)
	}
	c, err := config.Load(opts)
	if err != nil {
		tb.Fatal(err)
	}
	return c
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	path := write(t, map[string]string{"sp00ky.yml": "apps: {}\n"})
	c := mustLoad(t, config.Options{Path: path})
	dir := filepath.Dir(path)
	want := config.Config{
		File: path, Dir: dir, Mode: "singlenode",
		SurrealDB: config.SurrealDB{
			Version: "v3.0.0", Endpoint: "http://127.0.0.1:8666", Namespace: "main", Database: "main",
			Username: "root", Password: config.NewSecret("root"),
		},
		Schema: config.Schema{
			File: filepath.Join(dir, "src", "schema.surql"), Migrations: filepath.Join(dir, "migrations"), Buckets: filepath.Join(dir, "src", "buckets"),
		},
		Listen: "127.0.0.1:8667", Admin: config.Admin{Listen: "127.0.0.1:9668"}, Metrics: config.Metrics{Enabled: true},
		LogLevel: config.LogLevel{Dev: "info", Cloud: "info"}, ShutdownGrace: 30 * time.Second,
		Retention: config.Retention{
			Success: 6 * time.Hour, Failed: 14 * 24 * time.Hour, RunSuccess: 24 * time.Hour, RunFailed: 30 * 24 * time.Hour,
			RunDeadline: time.Hour, Audit: 400 * 24 * time.Hour, Mode: "all",
		},
		Warnings: []config.Finding{},
	}
	if !reflect.DeepEqual(*c, want) {
		t.Errorf("got  %+v\nwant %+v", *c, want)
	}
	missing := filepath.Join(dir, "nowhere.yml")
	if c := mustLoad(t, config.Options{Path: missing, AllowMissing: true}); c.SurrealDB != want.SurrealDB && c.SurrealDB.Endpoint != want.SurrealDB.Endpoint {
		t.Errorf("without a file: %+v", c.SurrealDB)
	}
}

func TestBackendOfAFile(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, config.Options{Path: "testdata/good/chat/sp00ky.yml", Env: variables, Stage: config.StageDev})
	run := c.Runnable()
	if len(run) != 1 || len(c.Apps) != 2 || c.Apps[1].Kind != config.KindFrontend || c.Apps[1].Dev.Command != "pnpm run dev" {
		t.Fatalf("got %+v and %+v", run, c.Apps)
	}
	b := run[0]
	if b.BaseURL.String() != "http://host.docker.internal:3660" || b.AuthToken.Reveal() != "token-from-the-environment" || b.Table != "job" ||
		b.OutboxSchema != "testdata/good/chat/src/outbox/api.surql" || b.Concurrency != 16 || b.RetryOn != config.RetryAll ||
		b.Timeout != 30*time.Second || !b.TimeoutOverridable || b.Healthcheck != "/health" || b.AllowAnyPath {
		t.Errorf("got %+v", b)
	}
	if want := (config.Dev{Kind: config.DevNPM, Script: "dev", Workdir: "testdata/good/chat/api"}); *b.Dev != want {
		t.Errorf("got %+v, want %+v", *b.Dev, want)
	}
	if want := []string{"API_AUTH_TOKEN=secret", "DEBUG=true", "PORT=3660", "SMTP_HOST=127.0.0.1", "SMTP_PORT=1025"}; !slices.Equal(b.Environ(), want) {
		t.Errorf("got %v, want %v", b.Environ(), want)
	}
	if !b.AllowsPath("/messages/1/moderate") || b.AllowsPath("/health") {
		t.Error("the document does not decide the paths")
	}
	if c.LogLevel.For(config.StageDev) != "debug,ssp=trace" || c.LogLevel.For(config.StageCloud) != "info" {
		t.Errorf("got %+v", c.LogLevel)
	}
}

func TestTheLaterFramework(t *testing.T) {
	t.Parallel()
	c := mustLoad(t, config.Options{Path: "testdata/good/full/sp00ky.yml", Env: variables})
	if db := c.SurrealDB; !db.External || db.Endpoint != "wss://db.example.com/rpc" || db.Username != "app" || db.Password.Reveal() != "password-from-the-environment" {
		t.Errorf("got %+v", db)
	}
	names := func() (names []string) {
		for _, b := range c.Runnable() {
			names = append(names, b.Name)
		}
		return names
	}()
	if !slices.Equal(names, []string{"mail", "pages"}) {
		t.Fatalf("got %v", names)
	}
	mail, _ := c.Backend("mail")
	pages, _ := c.Backend("pages")
	if mail.Concurrency != 4 || mail.RetryOn != config.RetryTransient || !mail.External || mail.OutboxSchema != "testdata/good/full/outbox.surql" ||
		!reflect.DeepEqual(mail.Workflows, []config.Workflow{{Binding: "CAMPAIGN", Class: "Campaign"}}) {
		t.Errorf("got %+v", mail)
	}
	if pages.BaseURL.Host != "pages.internal:3000" || pages.OutboxSchema != "testdata/good/full/pages/outbox.surql" || pages.Dir != "testdata/good/full/pages" {
		t.Errorf("got %+v", pages)
	}
	if len(c.Schedules) != 3 || len(c.Workflows) != 1 || c.Schedules[2].Every != time.Hour || c.Schedules[1].Workflow != "CAMPAIGN" {
		t.Fatalf("got %+v and %+v", c.Schedules, c.Workflows)
	}
	nightly := c.Schedules[0]
	wantPayload := map[string]any{"kind": "digest", "limit": int64(10), "to": []any{"a", "b"}, "at": "2026-01-01"}
	if !reflect.DeepEqual(nightly.Payload, wantPayload) || nightly.ForEach.Key != "id" || nightly.Enabled || nightly.Retry.Max != 5 || nightly.History.Mode != "failures-only" {
		t.Errorf("got %+v", nightly)
	}
	steps := c.Workflows[0].Steps
	if len(steps) != 3 || !slices.Equal(steps[2].DependsOn, []string{"fetch", "check"}) || steps[2].Timeout != 5*time.Second || c.Workflows[0].Trigger.Cron == "" {
		t.Errorf("got %+v", steps)
	}
	if c.Retention.RunDeadline != 0 || c.Retention.MaxRows != 100000 || len(c.Admin.Tokens) != 2 || c.Admin.Tokens[1].Scope != "read" || c.Admin.TraceURL != "https://jaeger.example.com/trace/{trace}" ||
		c.Admin.Tokens[1].Token.Reveal() != "token-from-the-environment-read" || c.Metrics.Listen != "127.0.0.1:9464" {
		t.Errorf("got %+v %+v %+v", c.Retention, c.Admin, c.Metrics)
	}
}

func TestStages(t *testing.T) {
	t.Parallel()
	for stage, want := range map[config.Stage]string{config.StageDev: "local", config.StageCloud: "hosted"} {
		c := mustLoad(t, config.Options{Path: "testdata/good/stages/sp00ky.yml", Env: variables, Stage: stage})
		if run := c.Runnable(); len(run) != 1 || run[0].Name != want {
			t.Errorf("%s: got %+v", stage, run)
		}
	}
	// What only the other stage needs is not asked for.
	mustLoad(t, config.Options{Path: "testdata/good/stages/sp00ky.yml", Stage: config.StageDev})
	if _, err := config.Load(config.Options{Path: "testdata/good/stages/sp00ky.yml", Env: env(nil), Stage: config.StageCloud}); err == nil {
		t.Error("API_TOKEN is not asked for")
	}
}

func TestEnvironmentWinsOverFileAndFlagsOverEnvironment(t *testing.T) {
	t.Parallel()
	path := write(t, map[string]string{"sp00ky.yml": `
surrealdb:
  hosting: external
  endpoint: ws://${UNSET}
  namespace: file
  database: file
  username: ${UNSET}
  password: {vault: UNSET}
logLevel: warn
admin: {listen: "${UNSET}"}
`})
	vars := map[string]string{
		"SPKY_DB_URL": "ws://127.0.0.1:1", "SPKY_DB_WS": "ws://127.0.0.1:2", "SPKY_DB_NS": "env", "SPKY_DB_NAME": "env",
		"SPKY_DB_USER": "env", "SPKY_DB_PASS": "env", "SPKY_SSP_LISTEN_ADDR": "127.0.0.1:3", "SPKY_ADMIN_HOST": "::1", "SPKY_ADMIN_PORT": "4",
		"SPKY_AUTH_SECRET": "s3cret", "SPKY_SSP_ID": "node-1", "SPKY_SSP_ADVERTISE_ADDR": "node-1:3", "SPKY_LOG_LEVEL": "debug",
	}
	c := mustLoad(t, config.Options{Path: path, Env: env(vars)})
	want := config.SurrealDB{Version: "v3.0.0", Endpoint: "ws://127.0.0.1:1", Namespace: "env", Database: "env", Username: "env", Password: config.NewSecret("env"), External: true}
	if !reflect.DeepEqual(c.SurrealDB, want) {
		t.Errorf("got %+v", c.SurrealDB)
	}
	if c.Listen != "127.0.0.1:3" || c.Admin.Listen != "[::1]:4" || c.AuthSecret.Reveal() != "s3cret" || c.NodeID != "node-1" || c.Advertise != "node-1:3" || c.LogLevel.Dev != "debug" {
		t.Errorf("got %+v", c)
	}

	delete(vars, "SPKY_DB_URL")
	c = mustLoad(t, config.Options{Path: path, Env: env(vars), Overrides: config.Overrides{
		Namespace: "flag", Database: "flag", Username: "flag", Password: "flag", Listen: "127.0.0.1:5", AdminListen: "127.0.0.1:6", LogLevel: "error",
	}})
	want = config.SurrealDB{Version: "v3.0.0", Endpoint: "ws://127.0.0.1:2", Namespace: "flag", Database: "flag", Username: "flag", Password: config.NewSecret("flag"), External: true}
	if !reflect.DeepEqual(c.SurrealDB, want) || c.Listen != "127.0.0.1:5" || c.Admin.Listen != "127.0.0.1:6" || c.LogLevel.Dev != "error" {
		t.Errorf("got %+v", c)
	}
	c = mustLoad(t, config.Options{Path: path, Env: env(vars), Overrides: config.Overrides{Endpoint: "http://127.0.0.1:7"}})
	if c.SurrealDB.Endpoint != "http://127.0.0.1:7" {
		t.Errorf("got %+v", c.SurrealDB)
	}
}

func TestBadEnvironmentAndFlags(t *testing.T) {
	t.Parallel()
	path := write(t, map[string]string{"sp00ky.yml": "apps: {}\n"})
	for name, c := range map[string]struct {
		vars  map[string]string
		flags config.Overrides
		file  string
		key   string
	}{
		"endpoint":      {vars: map[string]string{"SPKY_DB_URL": "127.0.0.1:8000"}, file: config.FileEnvironment, key: "SPKY_DB_URL"},
		"older name":    {vars: map[string]string{"SPKY_DB_WS": "ws://u:p@h"}, file: config.FileEnvironment, key: "SPKY_DB_WS"},
		"namespace":     {vars: map[string]string{"SPKY_DB_NS": "a\x00b"}, file: config.FileEnvironment, key: "SPKY_DB_NS"},
		"listen":        {vars: map[string]string{"SPKY_SSP_LISTEN_ADDR": "8667"}, file: config.FileEnvironment, key: "SPKY_SSP_LISTEN_ADDR"},
		"admin port":    {vars: map[string]string{"SPKY_ADMIN_PORT": "nine"}, file: config.FileEnvironment, key: "SPKY_ADMIN_PORT"},
		"secret":        {vars: map[string]string{"SPKY_AUTH_SECRET": "two words"}, file: config.FileEnvironment, key: "SPKY_AUTH_SECRET"},
		"log level":     {vars: map[string]string{"SPKY_LOG_LEVEL": "loud"}, file: config.FileEnvironment, key: "SPKY_LOG_LEVEL"},
		"listen flag":   {flags: config.Overrides{Listen: "127.0.0.1:99999"}, file: config.FileFlags, key: "--listen"},
		"admin flag":    {flags: config.Overrides{AdminListen: "x"}, file: config.FileFlags, key: "--admin-listen"},
		"endpoint flag": {flags: config.Overrides{Endpoint: "mysql://h"}, file: config.FileFlags, key: "--db-url"},
	} {
		_, err := config.Load(config.Options{Path: path, Env: env(c.vars), Overrides: c.flags})
		var invalid *config.InvalidError
		if !errors.As(err, &invalid) || len(invalid.Report.Errors) != 1 {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		f := invalid.Report.Errors[0]
		if f.File != c.file || f.Key != c.key || f.Line != 0 || !strings.HasPrefix(f.String(), c.file+": "+c.key+": found ") || f.Remedy == "" {
			t.Errorf("%s: got %+v", name, f)
		}
		if strings.Contains(f.String(), "two words") || strings.Contains(f.String(), "u:p") {
			t.Errorf("%s: a secret is shown: %s", name, f)
		}
	}
}

func TestUnreadableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	huge := filepath.Join(dir, "huge.yml")
	if err := os.WriteFile(huge, []byte("# "+strings.Repeat("x", 1<<20)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		huge:                             "more than 1 MiB",
		dir:                              "is a directory",
		filepath.Join(dir, "none.yml"):   "there is no such file",
		filepath.Join(huge, "below.yml"): "cannot be read",
	} {
		r := config.Lint(path, config.Options{Env: env(nil)})
		if len(r.Errors) != 1 || r.Parsed || !strings.Contains(r.Errors[0].Message, want) || r.Errors[0].File != path {
			t.Errorf("%s: got %+v", path, r)
		}
	}
	fits := filepath.Join(dir, "fits.yml")
	if err := os.WriteFile(fits, []byte("mode: cluster\n# "+strings.Repeat("x", 1<<20-17)+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if c := mustLoad(t, config.Options{Path: fits}); c.Mode != "cluster" {
		t.Errorf("got %+v", c)
	}
}

func TestExposure(t *testing.T) {
	t.Parallel()
	path := write(t, map[string]string{"sp00ky.yml": "admin: {listen: \"${ADMIN:-127.0.0.1:9668}\"}\n"})
	for name, c := range map[string]struct {
		vars map[string]string
		want []string
	}{
		"loopback":      {},
		"processor":     {vars: map[string]string{"SPKY_SSP_LISTEN_ADDR": "0.0.0.0:8667"}, want: []string{"SPKY_SSP_LISTEN_ADDR"}},
		"no host":       {vars: map[string]string{"SPKY_SSP_LISTEN_ADDR": ":8667"}, want: []string{"SPKY_SSP_LISTEN_ADDR"}},
		"admin":         {vars: map[string]string{"ADMIN": "[::]:9668"}, want: []string{"admin.listen"}},
		"both":          {vars: map[string]string{"ADMIN": "10.0.0.1:9668", "SPKY_SSP_LISTEN_ADDR": "10.0.0.1:8667"}, want: []string{"SPKY_SSP_LISTEN_ADDR", "admin.listen"}},
		"with a secret": {vars: map[string]string{"ADMIN": "10.0.0.1:9668", "SPKY_SSP_LISTEN_ADDR": "10.0.0.1:8667", "SPKY_AUTH_SECRET": "s"}},
	} {
		var keys []string
		for _, f := range mustLoad(t, config.Options{Path: path, Env: env(c.vars)}).CheckExposure() {
			keys = append(keys, f.Key)
		}
		if !slices.Equal(keys, c.want) {
			t.Errorf("%s: got %v, want %v", name, keys, c.want)
		}
	}
	for text, want := range map[string][]string{
		"{listen: \"0.0.0.0:9000\"}": {"metrics.listen"}, "{listen: \"127.0.0.1:9000\"}": nil, "{listen: \"0.0.0.0:9000\", enabled: false}": nil, "false": nil,
	} {
		var keys []string
		own := write(t, map[string]string{"sp00ky.yml": "metrics: " + text + "\n"})
		for _, f := range mustLoad(t, config.Options{Path: own}).CheckExposure() {
			keys = append(keys, f.Key)
		}
		if !slices.Equal(keys, want) {
			t.Errorf("metrics %s: got %v, want %v", text, keys, want)
		}
	}
	for listen, want := range map[string]bool{"localhost:1": true, "127.9.9.9:1": true, "[::1]:1": true, "[::ffff:127.0.0.1]:1": true, "example.com:1": false, ":1": false, "": false, "0.0.0.0:1": false} {
		if got := config.IsLoopback(listen); got != want {
			t.Errorf("%q: got %v", listen, got)
		}
	}
}

func TestVaultKeysOfAnAppComeFromItsOwnSources(t *testing.T) {
	t.Parallel()
	path := write(t, map[string]string{
		"sp00ky.yml": `
apps:
  api:
    type: backend
    scope: devOnly
    auth: {token: {vault: TOKEN}}
    env: [api.env, {EXTRA: 1}, {vault: [FROM_VAULT, NOT_THERE]}, {dev: {SIDE: dev}, cloud: {SIDE: cloud}}]
`,
		"api.env": "TOKEN='from the file'\nTOKEN=second\n",
	})
	b, _ := mustLoad(t, config.Options{Path: path, Env: env(map[string]string{"FROM_VAULT": "v"})}).Backend("api")
	if want := []string{"EXTRA=1", "FROM_VAULT=v", "SIDE=dev", "TOKEN=second"}; !slices.Equal(b.Environ(), want) || b.AuthToken.Reveal() != "second" {
		t.Errorf("got %v, token %s", b.Environ(), b.AuthToken.Reveal())
	}
	b, _ = mustLoad(t, config.Options{Path: path, Env: env(map[string]string{"TOKEN": "process"})}).Backend("api")
	if b.AuthToken.Reveal() != "process" {
		t.Errorf("got %s", b.AuthToken.Reveal())
	}
}

func TestReportIsSortedAndComplete(t *testing.T) {
	t.Parallel()
	r := config.Lint("testdata/broken/many-faults.yml", config.Options{Env: variables})
	if len(r.Errors) < 15 || len(r.Warnings) == 0 || r.OK() || !r.Parsed {
		t.Fatalf("got %+v", r)
	}
	if !slices.IsSortedFunc(r.Errors, func(a, b config.Finding) int { return a.Line - b.Line }) {
		t.Error("the errors are not in the order of the file")
	}
	if len(r.Findings()) != len(r.Errors)+len(r.Warnings) {
		t.Error("findings are missing")
	}
	var invalid *config.InvalidError
	if _, err := config.Load(config.Options{Path: "testdata/broken/many-faults.yml", Env: variables}); !errors.As(err, &invalid) {
		t.Fatalf("got %v", err)
	} else if strings.Count(err.Error(), "\n")+1 != len(invalid.Report.Errors) {
		t.Errorf("got %v", err)
	}
}

// TestBombs lints files that are small and would be endless if every alias and
// merge were followed, or every fault shown.
func TestBombs(t *testing.T) {
	t.Parallel()
	keys := func(n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "k%d: 1, ", i)
		}
		return b.String()
	}
	times := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, text := range map[string]string{
		"unknown keys": keys(50000),
		"aliases":      "schedules: {a: &a {" + keys(20000) + "}, " + times(20000, "b%d: *a, ") + "}",
		"merges":       "schedules: {a: &a {" + keys(20000) + "}, " + times(20000, "b%d: {<<: *a}, ") + "}",
		"merge lists":  "schedules: {a: &a {x: 1}, b: {<<: [" + strings.Repeat("*a, ", 100000) + "]}}",
		"nested lists": "apps: {a: {type: docker, env: " + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + "}}",
	} {
		path := write(t, map[string]string{"sp00ky.yml": "{" + strings.TrimSuffix(text, ", ") + "}\n"})
		r := config.Lint(path, config.Options{Env: env(nil)})
		if n := len(r.Findings()); n > 1000 || n == 0 && name != "nested lists" {
			t.Errorf("%s: %d findings", name, n)
		}
	}
}

func TestAdminCanBeOff(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file  string
		vars  map[string]string
		flags config.Overrides
		want  string
	}{
		"by the file":                  {file: "off", want: ""},
		"by the variable":              {file: "0.0.0.0:1", vars: map[string]string{"SPKY_ADMIN_PORT": "off"}, want: ""},
		"by the flag":                  {file: "0.0.0.0:1", flags: config.Overrides{AdminListen: "off"}, want: ""},
		"on by the flag":               {file: "off", vars: map[string]string{"SPKY_ADMIN_PORT": "off"}, flags: config.Overrides{AdminListen: "127.0.0.1:7"}, want: "127.0.0.1:7"},
		"on by the variable":           {file: "off", vars: map[string]string{"SPKY_ADMIN_PORT": "7"}, want: "127.0.0.1:7"},
		"on by the file, with no host": {file: "127.0.0.1:7", want: "127.0.0.1:7"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, map[string]string{"sp00ky.yml": "admin: {listen: \"" + c.file + "\"}\n"})
			cfg, err := config.Load(config.Options{Path: path, Env: env(c.vars), Overrides: c.flags})
			if err != nil {
				t.Fatal(err)
			}
			if cfg.Admin.Listen != c.want || len(cfg.CheckExposure()) > 0 {
				t.Errorf("listens on %q, want %q; exposed: %v", cfg.Admin.Listen, c.want, cfg.CheckExposure())
			}
		})
	}
}
