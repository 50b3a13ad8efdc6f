package dev

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"sp00ky.cloud/spky/devdb"
)

// A database is what the session works on.
type database struct {
	endpoint string
	kind     string          // in words
	done     <-chan struct{} // closed when it has ended; nil for one that is somebody else's
	err      func() error    // why
	close    func() error
}

// open finds or starts the database.
func (s *session) open(ctx context.Context) (*database, error) {
	if s.cfg.SurrealDB.External {
		return &database{endpoint: s.cfg.SurrealDB.Endpoint, kind: "given", close: func() error { return nil }}, nil
	}
	if path := devdb.Find(ctx).Surreal; path != "" && s.isModern(ctx, path) {
		s.noteOtherData(dataSurreal, dataDevdb)
		return s.startSurreal(ctx, path)
	}
	s.noteOtherData(dataDevdb, dataSurreal)
	return s.startDevdb(ctx)
}

// noteOtherData says so when an earlier session kept its data with the other
// kind of database: it would seem lost.
func (s *session) noteOtherData(mine, other string) {
	_, err := os.Stat(s.dir(mine))
	if _, otherErr := os.Stat(s.dir(other)); errors.Is(err, fs.ErrNotExist) && otherErr == nil {
		s.say("note: earlier data is in %s and stays there; this database starts with %s", s.dir(other), s.dir(mine))
	}
}

func (s *session) startDevdb(ctx context.Context) (*database, error) {
	s.say("starting the embedded development database")
	out := s.sink.Lines(s.o.Style.Dim("[database]") + " ")
	defer out.Flush()
	server, err := devdb.Start(ctx, devdb.Config{
		Listen: s.o.DBListen, Data: s.dir(dataDevdb),
		User: s.cfg.SurrealDB.Username, Password: s.cfg.SurrealDB.Password.Reveal(),
		Progress: out, Log: out,
	})
	if err != nil {
		return nil, fmt.Errorf("dev: %w", err)
	}
	return &database{
		endpoint: server.Endpoint(), kind: "embedded, rocksdb in " + s.show(dataDevdb),
		done: server.Done(), err: server.Err, close: server.Close,
	}, nil
}

// show is a directory of the session as the user sees it.
func (s *session) show(name string) string { return stateDir + "/" + name }
