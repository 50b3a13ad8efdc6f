package dev

import (
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/cmd/spky/internal/proc"
	"sp00ky.cloud/spky/config"
)

func testSession(t *testing.T, backends ...config.Backend) *session {
	t.Helper()
	cfg := &config.Config{
		Dir: t.TempDir(), Listen: "127.0.0.1:8667", Backends: backends,
		SurrealDB: config.SurrealDB{Endpoint: "ws://127.0.0.1:8666/rpc", Namespace: "ns", Database: "db", Username: "root", Password: config.NewSecret("pw")},
	}
	return &session{cfg: cfg, sink: proc.NewSink(io.Discard), o: Options{Environ: []string{"HOME=/home/x", "PORT=1", "SPKY_DB_NS=inherited"}}}
}

func parse(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// last is the value that a process sees: of a name that is there twice the last
// counts.
func last(env []string, name string) string {
	for _, line := range slices.Backward(env) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return value
		}
	}
	return ""
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	s := testSession(t, config.Backend{Name: "api", Table: "job", BaseURL: parse(t, "http://localhost:3660/base")})
	app := config.App{Name: "api", Env: map[string]config.Secret{"SPKY_DB_NAME": config.NewSecret("own"), "TOKEN": config.NewSecret("t")}}
	env := s.environ(app)
	for name, want := range map[string]string{
		"SPKY_ENV": "dev", "SPKY_DB_URL": "http://127.0.0.1:8666", "SPKY_DB_WS": "ws://127.0.0.1:8666", "SPKY_DB_NS": "ns",
		"SPKY_DB_USER": "root", "SPKY_DB_PASS": "pw", "SPKY_SSP_ADDR": "127.0.0.1:8667",
		"SPKY_BACKEND": "api", "SPKY_OUTBOX_TABLE": "job", "PORT": "3660", "HOME": "/home/x",
		"TOKEN": "t", "SPKY_DB_NAME": "own", // the app's own variables win
	} {
		if got := last(env, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	other := s.environ(config.App{Name: "web", Kind: config.KindFrontend})
	if last(other, "SPKY_OUTBOX_TABLE") != "" || last(other, "SPKY_BACKEND") != "" || last(other, "PORT") != "1" {
		t.Errorf("a frontend got a backend's variables: %v", other)
	}
}

func TestPortOfABackend(t *testing.T) {
	t.Parallel()
	for base, want := range map[string]string{
		"http://127.0.0.1:3660": "3660", "http://localhost:80/x": "80", "http://[::1]:9": "9", "http://host.docker.internal:5": "5",
		"http://localhost": "", "https://api.example.com:443": "",
	} {
		s := testSession(t, config.Backend{Name: "api", BaseURL: parse(t, base)})
		if got := s.port(config.App{Name: "api"}); got != want {
			t.Errorf("port of %s is %q, want %q", base, got, want)
		}
	}
}

func TestSchemes(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string][2]string{
		"ws://h:1/rpc":  {"http://h:1", "ws://h:1"},
		"http://h:1":    {"http://h:1", "ws://h:1"},
		"wss://h/x/rpc": {"https://h/x", "wss://h/x"},
		"https://h:2/":  {"https://h:2", "wss://h:2"},
	} {
		if got := [2]string{withScheme(endpoint, "http", "https"), withScheme(endpoint, "ws", "wss")}; got != want {
			t.Errorf("%s is %v, want %v", endpoint, got, want)
		}
	}
}

func TestPackageManager(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	inner := filepath.Join(root, "apps", "web")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	fallback := "npm"
	if _, err := exec.LookPath("pnpm"); err == nil {
		fallback = "pnpm"
	}
	for _, step := range []struct{ file, want string }{
		{"", fallback}, {"yarn.lock", "yarn"}, {"apps/pnpm-lock.yaml", "pnpm"}, {"apps/web/package-lock.json", "npm"},
	} {
		if step.file != "" {
			if err := os.WriteFile(filepath.Join(root, step.file), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got := packageManager(inner, root); got != step.want {
			t.Errorf("with %q: %s, want %s", step.file, got, step.want)
		}
	}
}

func TestCommands(t *testing.T) {
	t.Parallel()
	s := testSession(t, config.Backend{Name: "api", Table: "job", BaseURL: parse(t, "http://127.0.0.1:3660")})
	app := func(d config.Dev) config.App {
		return config.App{Name: "api", Dir: s.cfg.Dir, Dev: &d, Env: map[string]config.Secret{"TOKEN": config.NewSecret("s3cret")}}
	}
	if got := s.command(app(config.Dev{Kind: config.DevCommand, Command: "go run ."})); !slices.Equal(got, []string{"sh", "-c", "go run ."}) {
		t.Errorf("command %q", got)
	}
	if got := s.command(app(config.Dev{Kind: config.DevUV, Script: "serve"})); !slices.Equal(got, []string{"uv", "run", "serve"}) {
		t.Errorf("uv %q", got)
	}
	docker := strings.Join(s.command(app(config.Dev{Kind: config.DevDocker, File: "a b/Dockerfile", Workdir: "/w", Port: 80})), " ")
	for _, want := range []string{"docker build -q -f 'a b/Dockerfile' -t sp00ky-dev-api '/w' && exec docker run --rm", "-e SPKY_DB_URL", "-e 'TOKEN'"} {
		if !strings.Contains(docker, want) {
			t.Errorf("docker lacks %q: %s", want, docker)
		}
	}
	if strings.Contains(docker, "s3cret") {
		t.Errorf("docker shows a secret in the list of processes: %s", docker)
	}
}
