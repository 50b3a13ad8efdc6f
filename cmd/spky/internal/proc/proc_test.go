//go:build unix

package proc

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain also plays the guard.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guard" {
		RunGuard(os.Stdin)
		return
	}
	code := m.Run()
	if err := goleak.Find(); err != nil && code == 0 {
		os.Stderr.WriteString(err.Error())
		code = 1
	}
	os.Exit(code)
}

// lines is an output whose lines can be waited for.
type lines struct {
	r *bufio.Reader
	w *io.PipeWriter
}

func newLines() *lines {
	r, w := io.Pipe()
	return &lines{r: bufio.NewReader(r), w: w}
}

func (l *lines) next(t *testing.T) string {
	t.Helper()
	text, err := l.r.ReadString('\n')
	if err != nil {
		t.Fatalf("read the child's output: %v", err)
	}
	return strings.TrimSpace(text)
}

// drain reads on, so that the child never waits for a reader.
func (l *lines) drain() { go func() { _, _ = io.Copy(io.Discard, l.r) }() }

func shell(script string, out io.Writer) Child {
	return Child{Name: "test", Args: []string{"sh", "-c", script}, Env: os.Environ(), Out: out, Grace: 10 * time.Second}
}

func TestRunTellsHowItEnded(t *testing.T) {
	t.Parallel()
	if err := shell("exit 0", io.Discard).Run(t.Context()); err != nil {
		t.Errorf("exit 0 is %v", err)
	}
	if err := shell("exit 3", io.Discard).Run(t.Context()); err == nil || err.Error() != "test ended: exit status 3" {
		t.Errorf("exit 3 is %v", err)
	}
	if err := shell("kill -9 $$", io.Discard).Run(t.Context()); err == nil || !strings.Contains(err.Error(), "killed") {
		t.Errorf("kill -9 is %v", err)
	}
	missing := Child{Name: "missing", Args: []string{"/nowhere"}, Out: io.Discard}
	if err := missing.Run(t.Context()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a missing program is %v", err)
	}
}

func TestRunEndsTheWholeGroup(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := newLines()
	ended := make(chan error, 1)
	// The sleeper is a grandchild, and its parent does not pass signals on.
	child := shell("sleep 1000 & echo $!; wait", out.w)
	go func() { ended <- child.Run(ctx) }()
	pid, err := strconv.Atoi(out.next(t))
	if err != nil {
		t.Fatal(err)
	}
	out.drain()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("an end that was asked for is %v", err)
	}
	awaitGone(t, pid)
	_ = out.w.Close()
}

func TestRunEndsWhatAProgramLeavesBehind(t *testing.T) {
	t.Parallel()
	out := newLines()
	ended := make(chan error, 1)
	go func() { ended <- shell("sleep 1000 >/dev/null 2>&1 & echo $!", out.w).Run(t.Context()) }()
	pid, err := strconv.Atoi(out.next(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	awaitGone(t, pid)
	_ = out.w.Close()
}

func TestRunKillsTheStubborn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	out := newLines()
	ended := make(chan error, 1)
	child := shell("trap '' TERM; echo ready; while :; do sleep 1000; done", out.w)
	child.Grace = 50 * time.Millisecond
	go func() { ended <- child.Run(ctx) }()
	out.next(t)
	out.drain()
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	_ = out.w.Close()
}

func TestKeepStartsAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var pauses []time.Duration
	shell("exit 1", io.Discard).Keep(ctx, false, func(err error, pause time.Duration) {
		if err == nil {
			t.Error("a crash is no error")
		}
		if pauses = append(pauses, pause); len(pauses) == 3 {
			cancel()
		}
	})
	if len(pauses) != 3 || pauses[0] != firstPause || pauses[2] != 4*firstPause {
		t.Errorf("pauses %v, want them to double", pauses)
	}
}

func TestKeepLetsWellEndedProgramsBe(t *testing.T) {
	t.Parallel()
	ends := 0
	shell("exit 0", io.Discard).Keep(t.Context(), false, func(err error, pause time.Duration) {
		if ends++; err != nil || pause != 0 {
			t.Errorf("the end is %v, the pause %s", err, pause)
		}
	})
	if ends != 1 {
		t.Errorf("it ran %d times, want once", ends)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ends = 0
	shell("exit 0", io.Discard).Keep(ctx, true, func(error, time.Duration) {
		if ends++; ends == 2 {
			cancel()
		}
	})
	if ends != 2 {
		t.Errorf("what always has to run ran %d times, want 2", ends)
	}
}

// TestGuardEndsOrphans stands for a parent that dies: the guard's input ends.
func TestGuardEndsOrphans(t *testing.T) {
	t.Parallel()
	guard, err := StartGuard(os.Args[0], "guard")
	if err != nil {
		t.Fatal(err)
	}
	kept, forgotten := sleeper(t), sleeper(t)
	guard.watch(kept.Process.Pid)
	guard.watch(forgotten.Process.Pid)
	guard.forget(forgotten.Process.Pid)
	guard.say("watch", 1) // never init, whatever is asked
	guard.say("watch", 0) // nor our own group
	if err := guard.Close(); err != nil {
		t.Errorf("the guard ended with %v", err)
	}
	if err := kept.Wait(); err == nil {
		t.Error("what the guard watched over ended well")
	}
	if syscall.Kill(forgotten.Process.Pid, 0) != nil {
		t.Error("the guard ended what it was told to forget")
	}
	_ = forgotten.Process.Kill()
	_ = forgotten.Wait()
}

func sleeper(t *testing.T) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd
}

func TestNobodyGuards(t *testing.T) {
	t.Parallel()
	var none *Guard
	none.watch(2)
	none.forget(2)
	if err := none.Close(); err != nil {
		t.Error(err)
	}
}

// awaitGone waits until a process that is not ours has ended.
func awaitGone(t *testing.T, pid int) {
	t.Helper()
	ticker := time.NewTicker(10 * time.Millisecond)
	defer ticker.Stop()
	for {
		status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
		zombie := err == nil && bytes.Contains(status, []byte(") Z "))
		if zombie || syscall.Kill(pid, 0) != nil {
			return
		}
		select {
		case <-ticker.C:
		case <-t.Context().Done():
			t.Fatalf("process %d goes on", pid)
		}
	}
}

func TestLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sink := NewSink(&out)
	a, b := sink.Lines("[a] "), sink.Lines("[b] ")
	write := func(w io.Writer, text string) {
		t.Helper()
		if n, err := io.WriteString(w, text); err != nil || n != len(text) {
			t.Fatalf("wrote %d of %d: %v", n, len(text), err)
		}
	}
	write(a, "one\ntw")
	write(b, "uno\r\n\n")
	write(a, "o\nthree")
	a.Flush()
	a.Flush()
	if want := "[a] one\n[b] uno\n[b] \n[a] two\n[a] three\n"; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	out.Reset()
	write(a, strings.Repeat("x", longestLine+1))
	if out.Len() < longestLine {
		t.Error("an endless line is kept back for ever")
	}
}

func TestLinesOfManyDoNotMix(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	sink := NewSink(&out)
	var all sync.WaitGroup
	for _, name := range []string{"a", "b", "c"} {
		l := sink.Lines(name + ":")
		all.Go(func() {
			for range 200 {
				_, _ = io.WriteString(l, strings.Repeat(name, 50)+"\n")
			}
		})
	}
	all.Wait()
	for line := range strings.Lines(out.String()) {
		if name := line[:1]; line != name+":"+strings.Repeat(name, 50)+"\n" {
			t.Fatalf("mixed line %q", line)
		}
	}
}
