package main

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/cmd/spky/internal/migrate"
)

func TestAddAPIKeepsEveryOtherByte(t *testing.T) {
	t.Parallel()
	for _, words := range [][]string{{"add", "api"}, {"api", "add"}} {
		p := newProject(t, "http://127.0.0.1:1")
		before := "# mine\nslug:   my-project # odd blanks\n\nunknown: {kept: true}\napps:\n  web: # the site\n    type: frontend\n"
		p.write("sp00ky.yml", before)
		out := p.must(append(words, "--spec", "openapi.yml", "--name", "mail", "--table", "mail_job", "--auth-token", "${MAIL_TOKEN}", "--schema-path", "db/mail.surql")...)
		for _, want := range []string{"Name      mail", "Table     mail_job", "Schema    db/mail.surql"} {
			if !strings.Contains(out, want) {
				t.Errorf("the summary lacks %q:\n%s", want, out)
			}
		}
		after := p.read("sp00ky.yml")
		if !strings.HasPrefix(after, before) || !strings.Contains(after, "token: ${MAIL_TOKEN}") {
			t.Errorf("sp00ky.yml is now\n%s", after)
		}
		if schema := p.read("db/mail.surql"); !strings.Contains(schema, "DEFINE TABLE OVERWRITE mail_job") {
			t.Errorf("the schema is\n%s", schema)
		}
	}
}

func TestAddAPIRefuses(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	before := p.read("sp00ky.yml")
	p.write("empty.yml", "openapi: 3.1.0\ninfo: {title: t, version: '1'}\npaths: {/x: {get: {responses: {}}}}\n")
	p.write("broken.yml", "openapi: [")
	p.write("mine.surql", "-- mine")
	p.want(exitFailed, "an app of this name exists", "add", "api", "--spec", "openapi.yml")
	p.want(exitUsage, "no such file", "add", "api", "--name", "other", "--spec", "nowhere.yml")
	p.want(exitUsage, "no path with a POST operation", "add", "api", "--name", "other", "--spec", "empty.yml")
	p.want(exitUsage, "--spec broken.yml", "add", "api", "--name", "other", "--spec", "broken.yml")
	p.want(exitFailed, "table name", "add", "api", "--name", "other", "--spec", "openapi.yml", "--table", "Bad-Name")
	p.want(exitUsage, "exists and differs; --overwrite", "add", "api", "--name", "other", "--table", "other_job", "--spec", "openapi.yml", "--schema-path", "mine.surql")
	if p.read("sp00ky.yml") != before || p.read("mine.surql") != "-- mine" {
		t.Error("a refusal changed something")
	}
	p.must("add", "api", "--name", "other", "--table", "other_job", "--spec", "openapi.yml", "--schema-path", "mine.surql", "--overwrite")
	if !strings.Contains(p.read("mine.surql"), "other_job") {
		t.Error("--overwrite left the file")
	}
}

func TestLint(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	if out := p.must("lint"); !strings.Contains(out, "Parsed "+p.config+" successfully.") || !strings.Contains(out, "  All checks passed.") {
		t.Errorf("lint says\n%s", out)
	}
	p.write("sp00ky.yml", p.read("sp00ky.yml")+"slgu: x\n")
	if out := p.must("lint"); !strings.Contains(out, "  warning: ") || !strings.Contains(out, "  No errors. 1 warning(s).") {
		t.Errorf("lint says\n%s", out)
	}
	p.write("sp00ky.yml", "mode: odd\nlogLevel: loud\n")
	code, out, _ := p.run("lint")
	if code != exitFailed || strings.Count(out, "  error: ") != 2 || !strings.Contains(out, "Lint failed with 2 error(s) and 0 warning(s).") {
		t.Errorf("%d: lint says\n%s", code, out)
	}
	got := decode[struct {
		OK     bool
		Errors []struct {
			Line int
			Key  string
		}
	}](p, "lint")
	if got.OK || len(got.Errors) != 2 || got.Errors[0].Line != 1 || got.Errors[1].Key != "logLevel" {
		t.Errorf("lint --json says %+v", got)
	}
}

func TestEveryCommandRefusesABrokenConfiguration(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.write("sp00ky.yml", "mode: odd\nlogLevel: loud\napps:\n  api:\n    type: backend\n")
	for _, line := range []string{"run", "dev", "migrate", "jobs list", "nodes"} {
		code, out, stderr := p.run(strings.Fields(line)...)
		if code != exitFailed || strings.Count(stderr, "\n  error: ") < 3 || out != "" {
			t.Errorf("spky %s: %d, want all faults:\n%s%s", line, code, out, stderr)
		}
	}
}

func TestMigrate(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.write("src/schema.surql", "DEFINE TABLE person;\n")
	p.write("migrations/20250101120000_first.surql", "CREATE person:one;\n")
	if out := p.must("migrate", "plan"); !strings.Contains(out, "-- src/schema.surql\nDEFINE TABLE OVERWRITE person;") || !strings.Contains(out, "CREATE person:one;") {
		t.Errorf("plan says\n%s", out)
	}
	if out := p.must("migrate", "status"); strings.Count(out, "[pending]") != 5 {
		t.Errorf("status says\n%s", out)
	}
	if out := p.must("migrate"); strings.Count(out, "[applied]") != 5 {
		t.Errorf("migrate says\n%s", out)
	}
	if out := p.must("migrate", "apply"); out != "Everything is applied already.\n" {
		t.Errorf("migrate apply says\n%s", out)
	}
	if out := p.must("migrate", "plan"); out != "-- Nothing is pending.\n" {
		t.Errorf("plan says\n%s", out)
	}
	p.write("migrations/20250101120000_first.surql", "CREATE person:two;\n")
	p.want(exitFailed, "hint: restore the file", "migrate")
	code, out, _ := p.run("migrate", "status")
	if code != exitFailed || !strings.Contains(out, "[DRIFT]   migrations/20250101120000_first.surql") {
		t.Errorf("%d: status says\n%s", code, out)
	}
	for _, i := range decode[[]migrate.Item](p, "migrate", "status") {
		if (i.State == migrate.Drift) != (i.Kind == "migration") {
			t.Errorf("status --json says %+v", i)
		}
	}
	p.must("migrate", "--fix-checksums")
	if out := p.must("migrate", "status"); strings.Contains(out, "DRIFT") {
		t.Errorf("status says\n%s", out)
	}
}

func TestMigrateSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.write("migrations/20250101120000_bad.surql", "CREATE person:one;\nTHROW 'no';\n")
	p.want(exitFailed, "apply migrations/20250101120000_bad.surql:2: ", "migrate")
}

func TestRunRefusesToStart(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.want(exitFailed, "which other machines can reach", "run", "--listen", "0.0.0.0:8667")
	p.want(exitFailed, "admin.listen", "run", "--admin-listen", "0.0.0.0:9668")
	p.set("SPKY_DB_URL", "")
	p.want(exitFailed, "no database is named", "run")
	p.set("SPKY_DB_URL", p.target.Endpoint)
	p.write("sp00ky.yml", "# no apps\n")
	p.want(exitFailed, "no backend that takes jobs", "run")
}

func TestRunSaysThatTheAddressIsTaken(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	p.must("migrate")
	taken := strings.TrimPrefix(p.target.Endpoint, "ws://")
	p.want(exitFailed, "address already in use", "run", "--listen", taken)
	p.want(exitFailed, "hint: choose another address with --admin-listen", "run", "--admin-listen", taken)
}

func TestDoctor(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	type report struct {
		OK     bool
		Checks []struct {
			Name, Severity, Fix, Detail string
			OK                          bool
		}
	}
	severity := func(r report, name string) string {
		worst := ""
		for _, c := range r.Checks {
			if c.Name == name && (worst == "" || c.Severity != "pass") {
				worst = c.Severity
			}
			if c.OK != (c.Severity == "pass") || c.OK == (c.Fix != "") {
				t.Errorf("check %+v", c)
			}
		}
		return worst
	}
	want := func(what string, r report, all map[string]string) {
		t.Helper()
		for name, s := range all {
			if got := severity(r, name); got != s {
				t.Errorf("%s: %s is %q, want %q in %+v", what, name, got, s, r.Checks)
			}
		}
	}
	r := decode[report](p, "doctor")
	want("an empty database", r, map[string]string{
		"configuration": "pass", "database connection": "pass", "database version": "pass", "clock": "pass",
		"platform schema": "warn", "nodes": "warn", "table job": "fail", "backend api": "pass",
	})
	p.must("migrate")
	p.create("--path", "/echo")
	r = decode[report](p, "doctor")
	want("no node", r, map[string]string{"platform schema": "pass", "platform permissions": "pass", "table job": "pass", "backlog of job": "fail"})
	if code, _, _ := p.run("doctor"); code != exitFailed {
		t.Errorf("doctor ended with %d, want 1", code)
	}
	stop := p.runner()
	id := p.create("--path", "/echo")
	p.must("jobs", "watch", id)
	if code, out, _ := p.run("doctor"); code != exitOK || !strings.Contains(out, "Everything is well.") {
		t.Errorf("doctor ended with %d:\n%s", code, out)
	}
	stop()

	p.query("DEFINE TABLE OVERWRITE _00_node SCHEMAFULL PERMISSIONS FULL; REMOVE FIELD run_at ON job; DEFINE FIELD OVERWRITE payload ON job TYPE string", nil)
	p.query("CREATE _00_node:gone CONTENT { node: 'gone', host: 'h', pid: 1, version: 'x', started_at: time::now() - 1m, heartbeat_at: time::now() - 1m }", nil)
	r = decode[report](p, "doctor")
	want("a broken database", r, map[string]string{"platform schema": "fail", "platform permissions": "fail", "table job": "warn", "nodes": "warn"})

	p.set("SPKY_DB_URL", "ws://127.0.0.1:1")
	want("no database", decode[report](p, "doctor"), map[string]string{"database connection": "fail"})
	p.write("sp00ky.yml", "mode: odd\n")
	want("a broken configuration", decode[report](p, "doctor"), map[string]string{"configuration": "fail"})
}

func TestDoctorAsksTheHealthCheck(t *testing.T) {
	t.Parallel()
	p := newProject(t, echoServer(t))
	p.must("migrate")
	text := p.read("sp00ky.yml")
	p.write("sp00ky.yml", text+"    deploy:\n      healthcheck: /healthz\n")
	if _, out, _ := p.run("doctor"); !strings.Contains(out, "/healthz answers 200 OK") {
		t.Errorf("doctor says\n%s", out)
	}
	p.write("sp00ky.yml", text+"    deploy:\n      healthcheck: /broken\n")
	if _, out, _ := p.run("doctor"); !strings.Contains(out, "/broken answers 500") {
		t.Errorf("doctor says\n%s", out)
	}
}
