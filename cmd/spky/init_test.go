//go:build unix

package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"sp00ky.cloud/spky/cmd/spky/internal/starter"
)

// beginProject runs spky init, has prepare install what the project needs, and gives it a port of its own.
func beginProject(t *testing.T, lang string, args []string, prepare ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "My Shop")
	out, err := exec.Command(binary(t), append([]string{"init", dir, "--lang", lang}, args...)...).CombinedOutput()
	if err != nil {
		t.Fatalf("init: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), strings.Join(prepare, " ")) {
		t.Errorf("init does not say %q:\n%s", prepare, out)
	}
	cmd := exec.Command(prepare[0], prepare[1:]...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", prepare, err, out)
	}
	config := filepath.Join(dir, "sp00ky.yml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.Replace(string(text), "127.0.0.1:3000", "127.0.0.1:"+strconv.Itoa(freePort(t)), 1)
	if err := os.WriteFile(config, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestInitRuns: what spky init writes runs with spky dev, as its README says.
func TestInitRuns(t *testing.T) {
	t.Parallel()
	for lang, project := range map[string]struct{ args, prepare []string }{
		"ts": {nil, []string{"npm", "install"}},
		"go": {nil, []string{"go", "mod", "tidy"}}, // the checkout that the program was built from
	} {
		t.Run(lang, func(t *testing.T) {
			t.Parallel()
			s := startDev(t, beginProject(t, lang, project.args, project.prepare...))
			s.await("Ready.")
			s.await("listening on http://127.0.0.1:")
			if code, out := s.spky("jobs", "create", "--path", "/greetings", "--payload", `{"name":"Ada"}`, "--wait"); code != exitOK {
				t.Fatalf("create: %d\n%s", code, out)
			}
			if code, out := s.spky("workflows", "instances", "send-event", "GREETING", "latest", "--type", "approved", "--payload", `{"by":"me"}`); code != exitOK {
				t.Fatalf("send-event: %d\n%s", code, out)
			}
			code, out := s.spky("workflows", "instances", "watch", "GREETING", "latest", "--json")
			if code != exitOK || !strings.Contains(out, "complete") {
				t.Fatalf("watch: %d\n%s", code, out)
			}
			_, out = s.spky("workflows", "instances", "describe", "GREETING", "latest", "--json")
			if !strings.Contains(out, "Hello, Ada!") || !strings.Contains(out, `"me"`) {
				t.Errorf("the instance came to\n%s", out)
			}
			_ = s.cmd.Process.Signal(syscall.SIGTERM)
			if code := s.code(); code != exitOK {
				t.Errorf("spky dev ended with %d after SIGTERM, want 0", code)
			}
		})
	}
}

// TestInitSaysWhereSpkyIs: a Go project's go.mod and README hold together, whatever is known of the module.
func TestInitSaysWhereSpkyIs(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	replaced, edit := "\nreplace sp00ky.cloud/spky => ", "go mod edit -replace=sp00ky.cloud/spky="
	for name, c := range map[string]struct {
		flags          initFlags
		mod, says, not string
	}{
		"a checkout":           {initFlags{Options: starter.Options{Replace: "../.."}}, replaced + root + "\n", "takes spky from a checkout", edit},
		"with a space":         {initFlags{Options: starter.Options{Replace: "/my code/spky"}}, replaced + `"/my code/spky"` + "\n", "takes spky from a checkout", edit},
		"that it was built in": {initFlags{}, replaced + root + "\n", "takes spky from a checkout", edit},
	} {
		c.flags.Dir, c.flags.Lang = filepath.Join(t.TempDir(), "shop"), "go"
		p := &program{out: &strings.Builder{}}
		if err := p.initProject(c.flags); err != nil {
			t.Fatal(err)
		}
		checkGoProject(t, name, c.flags.Dir, c.mod, c.says, c.not)
	}
	for name, c := range map[string]struct{ version, mod, says, not string }{
		"published": {"v1.2.3", "require sp00ky.cloud/spky v1.2.3\n", "go mod tidy", edit},
		"unknown":   {"", "require sp00ky.cloud/spky v0.0.0\n", edit, "takes spky from a checkout"},
	} {
		dir := filepath.Join(t.TempDir(), "shop")
		f := initFlags{Options: starter.Options{Dir: dir, Lang: "go", Version: c.version}}
		if _, err := starter.Write(f.Options); err != nil {
			t.Fatal(err)
		}
		checkGoProject(t, name, dir, c.mod, c.says, c.not)
		if got := f.prepare(); strings.Contains(got, edit) != (c.says == edit) || !strings.Contains(got, "go mod tidy") {
			t.Errorf("%s: next is %s", name, got)
		}
	}
}

func checkGoProject(t *testing.T, name, dir, mod, says, not string) {
	t.Helper()
	for file, want := range map[string]string{"go.mod": mod, "README.md": says} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err != nil || !strings.Contains(string(text), want) || strings.Contains(string(text), not) {
			t.Errorf("%s: %v: %s has no %q, or %q:\n%s", name, err, file, want, not, text)
		}
	}
}

func TestInitLeavesFilesAlone(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	before := p.read("sp00ky.yml")
	if code, _, out := p.run("init", p.dir); code != exitUsage || !strings.Contains(out, "is there already") {
		t.Errorf("init into a project: %d\n%s", code, out)
	}
	if p.read("sp00ky.yml") != before {
		t.Error("init changed sp00ky.yml")
	}
	if _, err := os.Stat(filepath.Join(p.dir, "package.json")); err == nil {
		t.Error("init wrote half a project")
	}
	if code, _, out := p.run("init", filepath.Join(p.dir, "x"), "--lang", "cobol"); code == exitOK || !strings.Contains(out, "known: ts, go") {
		t.Errorf("init in COBOL: %d\n%s", code, out)
	}
}

func TestInitReplacesTheSDK(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	old := filepath.Join(dir, "vendor", "spooky-sync-backend", "dist", "old.js")
	if err := os.MkdirAll(filepath.Dir(old), 0o750); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(old, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := starter.WriteSDK(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("a file of the old SDK is left")
	}
	for _, name := range []string{"package.json", "LICENSE", "dist/index.js", "dist/index.d.ts", "dist/node.js"} {
		if _, err := os.Stat(filepath.Join(dir, "vendor", "spooky-sync-backend", name)); err != nil {
			t.Error(err)
		}
	}
}
