package dev

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/cmd/spky/internal/proc"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
)

// appGrace is how long an app may take to end before it is killed.
const appGrace = 5 * time.Second

// startApps starts the development command of every app, each kept running until
// ctx ends.
func (s *session) startApps(ctx context.Context, group *errgroup.Group) {
	width := 0
	for _, app := range s.cfg.Apps {
		if app.Dev != nil {
			width = max(width, len(app.Name))
		}
	}
	for i, app := range s.cfg.Apps {
		if app.Dev == nil {
			continue
		}
		name := s.o.Style.Cycle(i, "["+app.Name+"]") + strings.Repeat(" ", width-len(app.Name)+1)
		out := s.sink.Lines(name)
		child := proc.Child{
			Name: app.Name, Args: s.command(app), Dir: workdir(app), Env: s.environ(app),
			Out: out, Grace: appGrace, Guard: s.guard,
		}
		group.Go(func() error {
			defer out.Flush()
			child.Keep(ctx, app.Kind == config.KindBackend, func(err error, pause time.Duration) {
				out.Flush()
				s.tellEnd(app, err, pause)
			})
			return nil
		})
	}
}

func (s *session) tellEnd(app config.App, err error, pause time.Duration) {
	what := s.o.Style.Yellow(app.Name + " ended")
	if err != nil {
		what = s.o.Style.Red(err.Error())
	}
	if pause == 0 {
		s.say("%s; it is not started again", what)
		return
	}
	s.say("%s; starting it again in %s", what, render.Span(pause))
}

func workdir(app config.App) string {
	if app.Dev.Workdir != "" {
		return app.Dev.Workdir
	}
	return app.Dir
}

// command is the development command as a program and its arguments.
func (s *session) command(app config.App) []string {
	d := app.Dev
	switch d.Kind {
	case config.DevNPM:
		return []string{packageManager(workdir(app), s.cfg.Dir), "run", d.Script}
	case config.DevUV:
		return []string{"uv", "run", d.Script}
	case config.DevDocker:
		return shell(s.docker(app))
	}
	return shell(d.Command)
}

func shell(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/C", line}
	}
	return []string{"sh", "-c", line}
}

// packageManager is the one whose lock file lies nearest, up to the project's
// directory; else pnpm where it is installed, else npm.
func packageManager(dir, root string) string {
	for {
		for _, m := range []struct{ file, name string }{
			{"pnpm-lock.yaml", "pnpm"}, {"package-lock.json", "npm"}, {"yarn.lock", "yarn"}, {"bun.lock", "bun"}, {"bun.lockb", "bun"},
		} {
			if _, err := os.Stat(filepath.Join(dir, m.file)); err == nil {
				return m.name
			}
		}
		parent := filepath.Dir(dir)
		if rel, err := filepath.Rel(root, parent); err != nil || strings.HasPrefix(rel, "..") || parent == dir {
			break
		}
		dir = parent
	}
	if _, err := exec.LookPath("pnpm"); err == nil {
		return "pnpm"
	}
	return "npm"
}

// docker builds an image and runs it on the host's network, so that it finds the
// database and is found at its base URL.
func (s *session) docker(app config.App) string {
	image := "sp00ky-dev-" + strings.ToLower(app.Name)
	pass := ""
	for _, line := range s.injected(app) {
		name, _, _ := strings.Cut(line, "=")
		pass += " -e " + name
	}
	for name := range app.Env {
		pass += " -e " + quote(name)
	}
	network := "--network host"
	if runtime.GOOS != "linux" && app.Dev.Port > 0 {
		if port := s.port(app); port != "" {
			network = fmt.Sprintf("-p 127.0.0.1:%s:%d", port, app.Dev.Port)
		}
	}
	return fmt.Sprintf("docker build -q -f %s -t %s %s && exec docker run --rm --init --name %s %s%s %s",
		quote(app.Dev.File), image, quote(workdir(app)), image, network, pass, image)
}

func quote(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// environ is the environment of an app: what we inherit, what is injected, and
// the app's own, which wins.
func (s *session) environ(app config.App) []string {
	var env []string
	if s.o.Style.On() { // the app writes to a pipe, but a terminal shows it
		env = append(env, "FORCE_COLOR=1", "CLICOLOR_FORCE=1")
	}
	env = append(env, s.o.Environ...)
	env = append(env, s.injected(app)...)
	return append(env, app.Environ()...)
}

// injected are the variables that tell an app where everything is.
func (s *session) injected(app config.App) []string {
	db := s.cfg.SurrealDB
	env := []string{
		"SPKY_ENV=dev",
		"SPKY_DB_URL=" + withScheme(db.Endpoint, "http", "https"),
		"SPKY_DB_WS=" + withScheme(db.Endpoint, "ws", "wss"),
		"SPKY_DB_NS=" + db.Namespace, "SPKY_DB_NAME=" + db.Database,
		"SPKY_DB_USER=" + db.Username, "SPKY_DB_PASS=" + db.Password.Reveal(),
		"SPKY_SSP_ADDR=" + s.cfg.Listen,
	}
	if b, ok := s.cfg.Backend(app.Name); ok && b.Table != "" {
		env = append(env, "SPKY_BACKEND="+b.Name, "SPKY_OUTBOX_TABLE="+b.Table)
	}
	if port := s.port(app); port != "" {
		env = append(env, "PORT="+port)
	}
	return env
}

// withScheme is an address of the database in its plain or secure scheme.
func withScheme(endpoint, plain, secure string) string {
	scheme, rest, ok := strings.Cut(endpoint, "://")
	if !ok {
		return endpoint
	}
	if scheme == "wss" || scheme == "https" {
		plain = secure
	}
	return plain + "://" + strings.TrimSuffix(strings.TrimSuffix(rest, "/"), "/rpc")
}

// port is where an app of this machine has to listen for its base URL to be
// true, "" where that cannot be told.
func (s *session) port(app config.App) string {
	b, ok := s.cfg.Backend(app.Name)
	if !ok || b.BaseURL == nil || !isLocal(b.BaseURL) {
		return ""
	}
	if n, err := strconv.Atoi(b.BaseURL.Port()); err != nil || n < 1 {
		return ""
	}
	return b.BaseURL.Port()
}

func isLocal(u *url.URL) bool {
	switch u.Hostname() {
	case "localhost", "127.0.0.1", "::1", "0.0.0.0", "host.docker.internal":
		return true
	}
	return false
}
