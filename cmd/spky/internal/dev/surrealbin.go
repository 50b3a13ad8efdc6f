package dev

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"
	"time"

	"sp00ky.cloud/spky/cmd/spky/internal/proc"
	"sp00ky.cloud/spky/surreal"
)

// versionTimeout bounds the question for a program's version.
const versionTimeout = 10 * time.Second

var majorVersion = regexp.MustCompile(`(\d+)\.\d+\.\d+`)

// isModern says whether a surreal program is new enough, and says so to the user
// where it is not. One that does not tell is given the benefit of the doubt.
func (s *session) isModern(ctx context.Context, path string) bool {
	ctx, cancel := context.WithTimeout(ctx, versionTimeout)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "version").Output()
	m := majorVersion.FindSubmatch(out)
	if err != nil || m == nil {
		return true
	}
	if major, err := strconv.Atoi(string(m[1])); err == nil && major < 3 {
		s.say("note: %s is SurrealDB %s, older than 3.0; the embedded database is used instead", path, m[0])
		return false
	}
	return true
}

// surrealGrace is how long a SurrealDB server may take to end.
const surrealGrace = 10 * time.Second

// startSurreal starts the SurrealDB server of this machine. Credentials travel in
// its environment, where no list of processes shows them.
func (s *session) startSurreal(ctx context.Context, path string) (*database, error) {
	s.say("starting %s", path)
	out := s.sink.Lines(s.o.Style.Dim("[database]") + " ")
	server := proc.Child{
		Name: "surreal", Dir: s.cfg.Dir, Out: out, Grace: surrealGrace, Guard: s.guard,
		Args: []string{path, "start", "--no-banner", "--log", "warn", "--bind", s.o.DBListen, "rocksdb:" + s.dir(dataSurreal)},
		Env: append(append([]string{}, s.o.Environ...),
			"SURREAL_USER="+s.cfg.SurrealDB.Username, "SURREAL_PASS="+s.cfg.SurrealDB.Password.Reveal()),
	}
	running, stop := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	var reason error
	go func() {
		defer close(done)
		reason = server.Run(running)
		out.Flush()
	}()
	db := &database{
		endpoint: "ws://" + s.o.DBListen, kind: path + ", rocksdb in " + s.show(dataSurreal), done: done,
		err: func() error { return reason }, close: func() error { stop(); <-done; return reason },
	}
	if err := s.awaitSurreal(ctx, db); err != nil {
		_ = db.close() // err says what happened
		return nil, err
	}
	return db, nil
}

// surrealStart is how long a server may take until it answers.
const surrealStart = time.Minute

func (s *session) awaitSurreal(ctx context.Context, db *database) error {
	ctx, cancel := context.WithTimeoutCause(ctx, surrealStart, fmt.Errorf("it did not answer within %s", surrealStart))
	defer cancel()
	want := s.surreal()
	want.Endpoint = db.endpoint
	ticker := time.NewTicker(pollEvery)
	defer ticker.Stop()
	for {
		_, stop, err := surreal.Connect(ctx, want)
		if err == nil {
			return stop()
		}
		if surreal.IsAuth(err) {
			return hinted("give the user and password that the data was made with (SPKY_DB_USER, SPKY_DB_PASS), or start over with `spky dev --clean`", "dev: %w", err)
		}
		select {
		case <-db.done:
			return hinted("its own words are above", "dev: the database did not start: %w", db.err())
		case <-ctx.Done():
			return fmt.Errorf("dev: start the database: %w: %w", context.Cause(ctx), err)
		case <-ticker.C:
		}
	}
}
