package devdb_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"testing"

	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/devdb/devdbtest"
)

// helperEnv makes this binary the program of a test instead: some tests need a process to kill.
const helperEnv = "DEVDB_TEST_HELPER"

func TestMain(m *testing.M) {
	switch os.Getenv(helperEnv) {
	case "start":
		os.Exit(helpStart())
	default:
		os.Exit(m.Run())
	}
}

// helpStart starts a database, says where, and waits to be killed or told to end.
func helpStart() int {
	db, err := devdb.Start(context.Background(), devdb.Config{Listen: "127.0.0.1:0", Progress: os.Stderr})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(db.PID(), db.Endpoint())
	_, _ = io.Copy(io.Discard, os.Stdin)
	if err := db.Close(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// start starts a database of the test's own.
func start(tb testing.TB, cfg devdb.Config) *devdb.Server {
	tb.Helper()
	if cfg.Listen == "" {
		cfg.Listen = "127.0.0.1:0"
	}
	db, err := devdb.Start(tb.Context(), cfg)
	if err != nil {
		tb.Fatalf("start: %v", err)
	}
	tb.Cleanup(func() { db.Close() })
	return db
}

// targetOf names a database on a server.
func targetOf(db *devdb.Server) devdbtest.Target {
	return devdbtest.Target{Endpoint: db.Endpoint(), User: db.User(), Password: db.Password(), Namespace: "test", Database: "test"}
}

// dataDir is a directory for a database, not yet there.
func dataDir(tb testing.TB) string {
	return filepath.Join(tb.TempDir(), "new", "data with a space")
}
