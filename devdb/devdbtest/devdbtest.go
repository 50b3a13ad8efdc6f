// Package devdbtest gives tests a real database.
//
// The tests of one binary share a server, started when the first of them asks; each takes a database of its own on it.
// The server dies with the test binary and takes its data with it, even when the binary is killed. When
// SPKY_TEST_DB_URL is set (for instance "ws://127.0.0.1:8000"), the server there is used instead, with
// SPKY_TEST_DB_USER and SPKY_TEST_DB_PASS, which default to root.
package devdbtest

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"os"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb"
)

// startTimeout covers an installation over a slow network.
const startTimeout = 5 * time.Minute

// Namespace is the namespace of every test database.
const Namespace = "spky_test"

// Target is a database to test against. It exists when somebody first uses it.
type Target struct {
	Endpoint  string // for instance "ws://127.0.0.1:41234"
	User      string // root user
	Password  string
	Namespace string
	Database  string // unique to this target
}

// shared is the binary's one server.
var shared = sync.OnceValues(func() (*devdb.Server, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	return devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0", Progress: os.Stderr})
})

// Server returns the server that the tests of this binary share. Whoever wants to stop, kill or break a server starts
// one of their own with [devdb.Start].
func Server(tb testing.TB) *devdb.Server {
	tb.Helper()
	s, err := shared()
	if err != nil {
		tb.Fatalf("start the shared development database: %v", err)
	}
	return s
}

// Fresh returns an empty database of the test's own.
func Fresh(tb testing.TB) Target {
	tb.Helper()
	t := Target{Namespace: Namespace, Database: "t_" + random()}
	if url := os.Getenv("SPKY_TEST_DB_URL"); url != "" {
		t.Endpoint = url
		t.User = cmp.Or(os.Getenv("SPKY_TEST_DB_USER"), "root")
		t.Password = cmp.Or(os.Getenv("SPKY_TEST_DB_PASS"), "root")
		return t
	}
	s := Server(tb)
	t.Endpoint, t.User, t.Password = s.Endpoint(), s.User(), s.Password()
	return t
}

func random() string {
	var b [8]byte
	// Never returns an error.
	_, _ = rand.Read(b[:])
	return hex.EncodeToString(b[:])
}
