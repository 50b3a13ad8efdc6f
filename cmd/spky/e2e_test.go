//go:build unix

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// These tests run the real program as a process of its own, with real apps.

// A session is a `spky dev` that runs.
type session struct {
	t        *testing.T
	cmd      *exec.Cmd
	out      *watched
	ended    chan struct{}
	err      error
	dir      string
	database string
	env      []string
}

// devProject writes a project whose backend is this test binary.
func devProject(t *testing.T, role string) (dir string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	p := &project{t: t, dir: dir}
	p.write("openapi.yml", testSpec)
	p.write("src/schema.surql", "DEFINE TABLE note SCHEMAFULL;\nDEFINE FIELD text ON note TYPE string;\n")
	p.config = filepath.Join(dir, "sp00ky.yml")
	p.write("sp00ky.yml", "# made by a test\n")
	p.env = map[string]string{}
	p.must("add", "api", "--spec", "openapi.yml", "--base-url", "http://127.0.0.1:"+strconv.Itoa(freePort(t)))
	// The shell stays between: what has to end is a grandchild.
	p.write("sp00ky.yml", p.read("sp00ky.yml")+fmt.Sprintf("    dev: %q\n    env: {%s: %s, OWN: mine, CRASH_MARK: %q}\n",
		"'"+self+"' -test.run=none & wait", backendRole, role, filepath.Join(dir, "crashed")))
	return dir
}

func freePort(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().(*net.TCPAddr).Port
}

// quietEnv is the environment without what would choose another database, and
// without a surreal on PATH.
func quietEnv(extra ...string) []string {
	var env []string
	for _, line := range os.Environ() {
		if !strings.HasPrefix(line, "SPKY_DB_") && !strings.HasPrefix(line, "SPKY_SSP_") && !strings.HasPrefix(line, "SPKY_ADMIN_") {
			env = append(env, line)
		}
	}
	return append(append(env, "SPKY_ADMIN_PORT=0"), extra...)
}

func startDev(t *testing.T, dir string, extra ...string) *session {
	t.Helper()
	s := &session{t: t, dir: dir, out: newWatched(), ended: make(chan struct{}), env: quietEnv()}
	s.database = "127.0.0.1:" + strconv.Itoa(freePort(t))
	return s.start(append([]string{"--db-listen", s.database, "--listen", "127.0.0.1:" + strconv.Itoa(freePort(t))}, extra...)...)
}

func (s *session) start(args ...string) *session {
	return s.startCommand(binary(s.t), append([]string{"dev"}, args...)...)
}

func (s *session) startCommand(name string, args ...string) *session {
	s.cmd = exec.Command(name, args...)
	s.cmd.Dir, s.cmd.Env, s.cmd.Stdout, s.cmd.Stderr = s.dir, s.env, s.out, s.out
	s.cmd.WaitDelay = 10 * time.Second
	// Like a terminal's job: what it starts must not end with the test's own group.
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { s.err = s.cmd.Wait(); close(s.ended) }()
	s.t.Cleanup(func() {
		_ = s.cmd.Process.Kill()
		<-s.ended
		if s.t.Failed() {
			s.t.Logf("spky dev said:\n%s", s.out)
		}
	})
	return s
}

// await waits until something was said; the end of spky before that is a
// failure.
func (s *session) await(text string) {
	s.t.Helper()
	select {
	case <-s.out.saw(text):
	case <-s.ended:
		s.t.Fatalf("spky dev ended (%v) before it said %q", s.err, text)
	}
}

// code waits for the end.
func (s *session) code() int {
	s.t.Helper()
	<-s.ended
	var exit *exec.ExitError
	if errors.As(s.err, &exit) {
		return exit.ExitCode()
	}
	return 0
}

// spky runs another command against the session's database.
func (s *session) spky(args ...string) (int, string) {
	s.t.Helper()
	cmd := exec.Command(binary(s.t), append([]string{"--db-url", "ws://" + s.database}, args...)...)
	cmd.Dir, cmd.Env = s.dir, s.env
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return exit.ExitCode(), string(out)
	}
	return 0, string(out)
}

var backendLine = regexp.MustCompile(`backend (\d+) port`)

// backends are the process numbers that the backend has had.
func (s *session) backends() []int {
	var all []int
	for _, m := range backendLine.FindAllStringSubmatch(s.out.String(), -1) {
		pid, _ := strconv.Atoi(m[1])
		all = append(all, pid)
	}
	return all
}

// gone waits until a process has ended.
func gone(t *testing.T, pid int) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for running(pid) {
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatalf("process %d goes on", pid)
		}
	}
}

// running says whether a process is there and no zombie.
func running(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || !bytes.Contains(status, []byte(") Z "))
}

// closed waits until nothing listens at an address.
func closed(t *testing.T, address string) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return
		}
		conn.Close()
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatalf("something still listens at %s", address)
		}
	}
}

func TestDevFromStartToEnd(t *testing.T) {
	t.Parallel()
	s := startDev(t, devProject(t, "good"))
	s.await("Ready.")
	for _, want := range []string{
		"applied src/schema.surql", "applied src/outbox/api.surql", "database   ws://" + s.database,
		"[api] backend ", "table job own mine", "db ws://" + s.database,
		"--db-url ws://" + s.database + ` jobs create --path /echo --payload '{"n":1}' --wait`,
	} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("spky dev did not say %q", want)
		}
	}
	if code, out := s.spky("jobs", "create", "--path", "/echo", "--payload", `{"n":1}`, "--wait"); code != exitOK || !strings.Contains(out, "success") {
		t.Errorf("the first job: %d\n%s", code, out)
	}
	if code, out := s.spky("doctor"); code != exitOK {
		t.Errorf("doctor: %d\n%s", code, out)
	}
	if ignored, err := os.ReadFile(filepath.Join(s.dir, ".sp00ky", ".gitignore")); err != nil || string(ignored) != "*\n" {
		t.Errorf("the state directory is not ignored by git: %v", err)
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if code := s.code(); code != exitOK {
		t.Errorf("spky dev ended with %d after SIGTERM, want 0", code)
	}
	gone(t, s.backends()[0])
	closed(t, s.database)
}

func TestDevKeepsItsDataUntilClean(t *testing.T) {
	t.Parallel()
	dir := devProject(t, "good")
	run := func(args ...string) (*session, string) {
		s := startDev(t, dir, args...)
		s.await("Ready.")
		_, out := s.spky("jobs", "list")
		_, _ = s.spky("jobs", "create", "--path", "/echo", "--wait", "--id", "kept")
		_ = s.cmd.Process.Signal(os.Interrupt)
		if code := s.code(); code != exitOK {
			t.Fatalf("spky dev ended with %d", code)
		}
		return s, out
	}
	if _, out := run(); !strings.Contains(out, "No jobs.") {
		t.Errorf("a new database has jobs:\n%s", out)
	}
	if s, out := run(); !strings.Contains(out, "job:kept") || strings.Contains(s.out.String(), "--clean") {
		t.Errorf("the second session lost the job:\n%s", out)
	}
	if s, out := run("--clean"); !strings.Contains(out, "No jobs.") || !strings.Contains(s.out.String(), "--clean: removing the development data in ") {
		t.Errorf("--clean left the job, or did not say what it does:\n%s", out)
	}
}

func TestDevStartsACrashedBackendAgain(t *testing.T) {
	t.Parallel()
	s := startDev(t, devProject(t, "good"))
	s.await("Ready.")
	code, out := s.spky("jobs", "create", "--path", "/crash", "--max-retries", "10", "--retry-strategy", "exponential", "--wait")
	if code != exitOK || !strings.Contains(out, "survived") {
		t.Errorf("the job that crashed its backend: %d\n%s", code, out)
	}
	if !strings.Contains(s.out.String(), "starting it again in ") || len(s.backends()) < 2 {
		t.Errorf("the backend was not started again: %v", s.backends())
	}
}

func TestKilledDevLeavesNoOrphans(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"good", "stubborn"} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			s := startDev(t, devProject(t, role))
			s.await("Ready.")
			_ = s.cmd.Process.Kill()
			gone(t, s.backends()[0])
			closed(t, s.database)
		})
	}
}

func TestSecondSignalEndsDevAtOnce(t *testing.T) {
	t.Parallel()
	s := startDev(t, devProject(t, "stubborn"))
	s.await("Ready.")
	_ = s.cmd.Process.Signal(os.Interrupt)
	s.await("[spky] stopping")
	_ = s.cmd.Process.Signal(os.Interrupt)
	if code := s.code(); code != exitInterrupted {
		t.Errorf("spky dev ended with %d, want %d", code, exitInterrupted)
	}
	gone(t, s.backends()[0])
	closed(t, s.database)
}

func TestDevSaysWhoHoldsTheAddress(t *testing.T) {
	t.Parallel()
	s := startDev(t, devProject(t, "good"))
	s.await("Ready.")
	again := func(dir string, want string, args ...string) {
		t.Helper()
		other := &session{t: t, dir: dir, out: newWatched(), ended: make(chan struct{}), env: quietEnv()}
		other.start(args...)
		if code := other.code(); code != exitFailed || !strings.Contains(other.out.String(), want) {
			t.Errorf("%v: %d, want 1 and %q in\n%s", args, code, want, other.out)
		}
	}
	free := func() string { return "127.0.0.1:" + strconv.Itoa(freePort(t)) }
	again(s.dir, "another `spky dev` runs this project (process "+strconv.Itoa(s.cmd.Process.Pid)+")", "--db-listen", free(), "--listen", free())
	elsewhere := devProject(t, "good")
	again(s.dir, "another `spky dev` runs this project", "--db-listen", s.database, "--listen", s.database)
	again(elsewhere, "whose main/main holds the platform's schema: of another project's `spky dev`, most likely", "--db-listen", s.database, "--listen", free())
	again(elsewhere, "or, only where it is this same project's, share its data: `--db-url ws://"+s.database+"`; or run beside it: `--db-listen 127.0.0.1:", "--db-listen", s.database, "--listen", free())
	again(elsewhere, "another SurrealDB, which takes the same user and password", "--db-listen", s.database, "--listen", free(), "--ns", "other")
	again(elsewhere, "a SurrealDB that refuses user root", "--db-listen", s.database, "--listen", free(), "--db-pass", "wrong")
	again(elsewhere, "the runner cannot listen on", "--db-listen", free(), "--listen", s.database)
	again(elsewhere, "the admin API cannot listen on "+s.database, "--db-listen", free(), "--listen", free(), "--admin-listen", s.database)
	s.besideIt(elsewhere)
	again(elsewhere, "--clean removes the data of the database that spky dev starts", "--db-url", "ws://"+s.database, "--listen", free(), "--clean")

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	again(elsewhere, "the database cannot listen on", "--db-listen", listener.Addr().String(), "--listen", free())
	if code, out := s.spky("jobs", "create", "--path", "/echo", "--wait"); code != exitOK {
		t.Errorf("the first session suffered: %d\n%s", code, out)
	}
}

// besideIt finds all addresses of a session taken, in one message, and starts another with the flags of its hint.
func (s *session) besideIt(dir string) {
	s.t.Helper()
	runner := regexp.MustCompile(`runner +http://(\S+)`).FindStringSubmatch(s.out.String())
	admin := regexp.MustCompile(`admin API +http://(\S+)`).FindStringSubmatch(s.out.String())
	if runner == nil || admin == nil {
		s.t.Fatalf("no addresses in\n%s", s.out)
	}
	other := &session{t: s.t, dir: dir, out: newWatched(), ended: make(chan struct{}), env: quietEnv()}
	other.start("--db-listen", s.database, "--listen", runner[1], "--admin-listen", admin[1])
	if code := other.code(); code != exitFailed {
		s.t.Fatalf("with all its addresses taken it ends with %d", code)
	}
	for _, who := range []string{"the database", "the runner", "the admin API"} {
		if !strings.Contains(other.out.String(), who+" cannot listen on ") {
			s.t.Errorf("nothing is said of %s in\n%s", who, other.out)
		}
	}
	flags := regexp.MustCompile("run beside it: `([^`]*)`").FindStringSubmatch(other.out.String())
	if flags == nil {
		s.t.Fatalf("no flags in\n%s", other.out)
	}
	third := &session{t: s.t, dir: dir, out: newWatched(), ended: make(chan struct{}), env: quietEnv()}
	third.start(strings.Fields(flags[1])...).await("Ready.")
	_ = third.cmd.Process.Signal(syscall.SIGTERM)
	if code := third.code(); code != exitOK {
		s.t.Errorf("beside it, spky dev ended with %d", code)
	}
}

func TestDevOnAGivenDatabase(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	dir := devProject(t, "good")
	s := &session{t: t, dir: dir, out: newWatched(), ended: make(chan struct{}), database: strings.TrimPrefix(p.target.Endpoint, "ws://")}
	s.env = quietEnv("SPKY_DB_URL="+p.target.Endpoint, "SPKY_DB_NS="+p.target.Namespace, "SPKY_DB_NAME="+p.target.Database,
		"SPKY_DB_USER="+p.target.User, "SPKY_DB_PASS="+p.target.Password, "SPKY_SSP_LISTEN_ADDR=127.0.0.1:"+strconv.Itoa(freePort(t)))
	s.start()
	s.await("Ready.")
	if code, out := s.spky("jobs", "create", "--path", "/echo", "--wait"); code != exitOK {
		t.Errorf("a job: %d\n%s", code, out)
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	if code := s.code(); code != exitOK {
		t.Errorf("spky dev ended with %d", code)
	}
	if _, err := os.Stat(filepath.Join(dir, ".sp00ky")); err == nil {
		t.Error("a given database made a state directory")
	}
	if said := s.out.String(); strings.Contains(said, "the database\n") || !strings.Contains(said, "[spky] stopped") {
		t.Errorf("what is said of stopping somebody else's database:\n%s", said)
	}
	p.db() // it goes on
}

// TestDevStartsSurreal puts a program named surreal on PATH that takes the
// arguments of the real one and runs the embedded database.
func TestDevStartsSurreal(t *testing.T) {
	t.Parallel()
	dir, bin := devProject(t, "good"), t.TempDir()
	script := `#!/bin/sh
[ "$1" = version ] && echo "3.0.2 for linux on x86_64" && exit
[ "$1" = start ] || exit 9
while [ $# -gt 0 ]; do
  case "$1" in --bind) bind=$2;; rocksdb:*) data=${1#rocksdb:};; esac
  shift
done
exec ` + binary(t) + ` devdb --listen "$bind" --data "$data" --user "$SURREAL_USER" --password-from-env SURREAL_PASS
`
	if err := os.WriteFile(filepath.Join(bin, "surreal"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	s := &session{t: t, dir: dir, out: newWatched(), ended: make(chan struct{}), database: "127.0.0.1:" + strconv.Itoa(freePort(t))}
	s.env = quietEnv("PATH="+bin+":"+os.Getenv("PATH"), "SPKY_DB_PASS=other-password")
	if err := os.MkdirAll(filepath.Join(dir, ".sp00ky", "devdb"), 0o755); err != nil {
		t.Fatal(err)
	}
	s.start("--db-listen", s.database, "--listen", "127.0.0.1:"+strconv.Itoa(freePort(t)))
	s.await("Ready.")
	for _, want := range []string{"starting " + bin + "/surreal", "note: earlier data is in "} {
		if !strings.Contains(s.out.String(), want) {
			t.Errorf("spky dev did not say %q", want)
		}
	}
	if code, out := s.spky("jobs", "create", "--path", "/echo", "--wait"); code != exitOK {
		t.Errorf("a job: %d\n%s", code, out)
	}
	_ = s.cmd.Process.Signal(os.Interrupt)
	if code := s.code(); code != exitOK {
		t.Errorf("spky dev ended with %d", code)
	}
	closed(t, s.database)
	if _, err := os.Stat(filepath.Join(dir, ".sp00ky", "data")); err != nil {
		t.Errorf("the data is not where it should be: %v", err)
	}
}

func TestDevEndsWithItsDatabase(t *testing.T) {
	t.Parallel()
	s := startDev(t, devProject(t, "good"))
	s.await("Ready.")
	for _, pid := range below(t, s.cmd.Process.Pid, "spky-devdb") {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	if code := s.code(); code != exitFailed || !strings.Contains(s.out.String(), "the database ended") || !strings.Contains(s.out.String(), "\nhint: ") {
		t.Errorf("spky dev ended with %d, want 1, the reason and a hint", code)
	}
	gone(t, s.backends()[0])
}

// below are the processes of a name that descend from one.
func below(t *testing.T, ancestor int, name string) (pids []int) {
	t.Helper()
	all := processes(t)
	for pid, p := range all {
		for up := p.parent; p.name == name && up > 1; up = all[up].parent {
			if up == ancestor {
				pids = append(pids, pid)
			}
		}
	}
	if len(pids) == 0 {
		t.Fatalf("process %d has no descendant %s", ancestor, name)
	}
	return pids
}

type process struct {
	parent int
	name   string
}

// processes are all there are. Linux tells of them where there is no ps, too.
func processes(t *testing.T) map[int]process {
	t.Helper()
	all := map[int]process{}
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		var pid, parent int
		text, _ := os.ReadFile(file) // it may have ended meanwhile
		head, rest, _ := strings.Cut(string(text), ") ")
		number, name, _ := strings.Cut(head, " (")
		if _, err := fmt.Sscan(number+rest[min(1, len(rest)):], &pid, &parent); err == nil {
			all[pid] = process{parent, name}
		}
	}
	if len(files) > 0 {
		return all
	}
	out, err := exec.Command("ps", "-A", "-o", "pid=", "-o", "ppid=", "-o", "comm=").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		var pid, parent int
		var name string
		if _, err := fmt.Sscan(line, &pid, &parent, &name); err == nil {
			all[pid] = process{parent, filepath.Base(name)}
		}
	}
	return all
}

func TestDevdbAlone(t *testing.T) {
	t.Parallel()
	p := &project{t: t, dir: t.TempDir(), env: map[string]string{"DEVDB_PASSWORD": "s3cret"}}
	p.config = filepath.Join(p.dir, "sp00ky.yml")
	data := filepath.Join(p.dir, "data")
	ctx, cancel := context.WithCancelCause(t.Context())
	out := newWatched()
	ended := make(chan int, 1)
	go func() {
		ended <- p.start(ctx, strings.NewReader(""), out, io.Discard, "devdb", "--listen", "127.0.0.1:0", "--data", data, "--user", "admin", "--password-from-env", "DEVDB_PASSWORD")
	}()
	<-out.saw("Ctrl-C stops it.")
	if strings.Contains(out.String(), "s3cret") {
		t.Errorf("the password is shown:\n%s", out)
	}
	address := regexp.MustCompile(`127\.0\.0\.1:\d+`).FindString(out.String())
	db, stop, err := surreal.Connect(t.Context(), surreal.Config{Endpoint: "ws://" + address, Namespace: "main", Database: "main", Username: "admin", Password: "s3cret"})
	if err != nil {
		t.Fatal(err)
	}
	if err := surreal.Exec(t.Context(), db, "CREATE thing:one", nil); err != nil {
		t.Error(err)
	}
	_ = stop()
	p.want(exitFailed, "hint: stop what listens there", "devdb", "--listen", address)
	cancel(errInterrupted)
	if code := <-ended; code != exitOK {
		t.Errorf("devdb ended with %d after a signal, want 0", code)
	}
	if _, err := os.Stat(data); err != nil {
		t.Errorf("the data is not where it should be: %v", err)
	}
}

func TestRunAsAProcess(t *testing.T) {
	t.Parallel()
	p := migrated(t, echoServer(t))
	cmd := exec.Command(binary(t), "run")
	out := newWatched()
	cmd.Dir, cmd.Stderr, cmd.Env = p.dir, out, quietEnv()
	for name, value := range p.env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	<-out.saw(`"msg":"ready"`) // JSON, for it is no terminal
	p.must("jobs", "create", "--path", "/echo", "--wait")
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("spky run ended with %v after SIGTERM:\n%s", err, out)
	}
}

// TestDevByGoRun ends `go run` with a signal that it does not pass on.
func TestDevByGoRun(t *testing.T) {
	t.Parallel()
	binary(t) // the packages are compiled then
	dir := devProject(t, "good")
	s := &session{t: t, dir: dir, out: newWatched(), ended: make(chan struct{}), env: quietEnv(), database: "127.0.0.1:" + strconv.Itoa(freePort(t))}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	s.dir = here
	s.startCommand("go", "run", ".", "--config", filepath.Join(dir, "sp00ky.yml"), "dev",
		"--db-listen", s.database, "--listen", "127.0.0.1:"+strconv.Itoa(freePort(t)))
	s.await("Ready.")
	if want := "  go run . --config " + filepath.Join(dir, "sp00ky.yml") + " --db-url ws://" + s.database + " jobs create --path /echo"; !strings.Contains(s.out.String(), want) {
		t.Errorf("spky dev did not say %q", want)
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	gone(t, s.backends()[0])
	closed(t, s.database)
	<-s.out.saw("[spky] stopped")
}
