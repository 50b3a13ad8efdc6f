package devdb

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// Server is a running development database. It is a process of its own, and ends with this one, however this one ends.
// Its methods may be called from any goroutine.
type Server struct {
	cfg       Config
	url       string
	ephemeral string // directory to remove at the end; "" when the data stays
	cmd       *exec.Cmd
	stdin     io.Closer
	said      chan hello // the host's first line
	tail      *tail
	done      chan struct{}

	mu     sync.Mutex
	asked  error // why this process ended it; nil while it has not
	reason error
}

// Start starts a database and returns when clients can connect. It installs the host first when this machine has not got
// it. ctx bounds only the start: the database goes on until Close, Kill or the end of this process.
//
// Errors are [*MissingError], [*InstallError] and [*StartError], or of the operating system.
func Start(ctx context.Context, cfg Config) (*Server, error) {
	cfg = cfg.withDefaults()
	in, err := install(ctx, cfg.Progress)
	if err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, said: make(chan hello, 1), tail: newTail(cfg.Log), done: make(chan struct{})}
	if err := s.place(); err != nil {
		return nil, err
	}
	if err := s.spawn(in); err != nil {
		s.cleanUp()
		return nil, err
	}
	if err := s.await(ctx); err != nil {
		s.end(err)
		<-s.done
		return nil, err
	}
	return s, nil
}

// place finds the database its directory.
func (s *Server) place() error {
	if s.cfg.Data == "" {
		dir, err := os.MkdirTemp("", "spky-devdb-")
		if err != nil {
			return fmt.Errorf("make a directory for the development database: %w", err)
		}
		s.cfg.Data, s.ephemeral = dir, dir
		return nil
	}
	abs, err := filepath.Abs(s.cfg.Data)
	if err != nil {
		return fmt.Errorf("find the development database's directory: %w", err)
	}
	s.cfg.Data = abs
	return nil
}

// spawn starts the host and the goroutine that waits for its end.
func (s *Server) spawn(in installation) error {
	cmd := exec.Command(in.node, s.args(in)...) //nolint:noctx // it outlives the context of its start; Close and Kill end it
	cmd.Dir = in.dir
	cmd.Env = append(os.Environ(), "SPKY_DB_USER="+s.cfg.User, "SPKY_DB_PASS="+s.cfg.Password)
	cmd.Stderr = s.tail
	cmd.WaitDelay = time.Second
	detach(cmd)
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("start the development database: %w", err)
	}
	stdout, stdoutEnd := io.Pipe()
	cmd.Stdout = stdoutEnd
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start the development database: %w", err)
	}
	s.cmd, s.stdin = cmd, stdin
	go s.wait(stdout, stdoutEnd)
	return nil
}

func (s *Server) args(in installation) []string {
	args := []string{filepath.Join(in.dir, "main.mjs"), "--listen", s.cfg.Listen, "--data", s.cfg.Data}
	if s.ephemeral != "" {
		args = append(args, "--ephemeral")
	}
	if s.cfg.Sync {
		args = append(args, "--sync")
	}
	return args
}

// wait owns the process's end.
func (s *Server) wait(stdout io.Reader, stdoutEnd io.Closer) {
	read := make(chan struct{})
	go func() {
		defer close(read)
		s.listen(stdout)
	}()
	err := s.cmd.Wait()
	stdoutEnd.Close()
	<-read
	s.cleanUp()
	s.mu.Lock()
	s.reason = s.explain(err)
	s.mu.Unlock()
	close(s.done)
}

// hello is the line the host prints when it is ready, or why it is not.
type hello struct {
	Ready  bool
	URL    string
	Reason Reason
	Error  string
}

// listen takes the host's first line, and goes on reading so that the host never blocks.
func (s *Server) listen(stdout io.Reader) {
	lines := bufio.NewReader(stdout)
	line, _ := lines.ReadBytes('\n')
	var h hello
	if err := json.Unmarshal(line, &h); err == nil {
		s.said <- h
	}
	_, _ = io.Copy(io.Discard, lines)
}

// explain says why the process ended: nil when it was asked to.
func (s *Server) explain(err error) error {
	if s.asked != nil {
		if errors.Is(s.asked, errClosed) {
			return nil
		}
		return s.asked
	}
	if err == nil {
		err = errors.New("it exited")
	}
	if last := s.tail.String(); last != "" {
		return fmt.Errorf("the development database ended: %w: %s", err, last)
	}
	return fmt.Errorf("the development database ended: %w", err)
}

func (s *Server) cleanUp() {
	if s.ephemeral != "" {
		// What cannot be removed is in the system's temporary directory, which the system cleans.
		_ = os.RemoveAll(s.ephemeral)
	}
}

// await waits for the host's first line.
func (s *Server) await(ctx context.Context) error {
	select {
	case h := <-s.said:
		return s.accept(h)
	case <-s.done:
		// Its word may have come with its end.
		select {
		case h := <-s.said:
			return s.accept(h)
		default:
			return s.Err()
		}
	case <-ctx.Done():
		return fmt.Errorf("start the development database: %w", context.Cause(ctx))
	}
}

func (s *Server) accept(h hello) error {
	if !h.Ready {
		return &StartError{Reason: h.Reason, Message: h.Error}
	}
	s.url = h.URL
	return nil
}

// URL is where clients connect, for instance "ws://127.0.0.1:8666/rpc".
func (s *Server) URL() string { return s.url }

// Endpoint is the URL without its path: what goes into a configuration or SPKY_DB_URL.
func (s *Server) Endpoint() string { return strings.TrimSuffix(s.url, "/rpc") }

// User is the root user's name.
func (s *Server) User() string { return s.cfg.User }

// Password is the root user's password.
func (s *Server) Password() string { return s.cfg.Password }

// DataDir is the directory of the database's files.
func (s *Server) DataDir() string { return s.cfg.Data }

// PID is the process's id.
func (s *Server) PID() int { return s.cmd.Process.Pid }

// Done is closed when the process has ended.
func (s *Server) Done() <-chan struct{} { return s.done }

// Err says why the process ended: nil before it ended and after Close, [ErrKilled] after Kill, and the process's last
// words after an end nobody asked for.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reason
}

// errClosed marks an end that Close asked for.
var errClosed = errors.New("closed")

// Close ends the database: requests in flight get a few seconds, its files are closed, and the process has ended when it
// returns. Calling it again, or after Kill, is harmless. The error is that of a database which had ended before it was
// asked to, or which did not end in [Config.StopTimeout] and was killed.
func (s *Server) Close() error {
	s.ask(errClosed)
	s.stdin.Close()
	timer := time.NewTimer(s.cfg.StopTimeout)
	defer timer.Stop()
	select {
	case <-s.done:
		if err := s.Err(); !errors.Is(err, ErrKilled) {
			return err
		}
		return nil
	case <-timer.C:
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	return fmt.Errorf("stop the development database: it took longer than %s and was killed", s.cfg.StopTimeout)
}

// Kill ends the process with SIGKILL, for tests of crashes, and returns when it has ended. Acknowledged writes are kept.
func (s *Server) Kill() error {
	s.end(ErrKilled)
	<-s.done
	return nil
}

// end kills the process for a reason.
func (s *Server) end(reason error) {
	s.ask(reason)
	_ = s.cmd.Process.Kill()
}

// ask remembers the first reason for which this process wanted the end.
func (s *Server) ask(reason error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked == nil && s.reason == nil {
		s.asked = reason
	}
}
