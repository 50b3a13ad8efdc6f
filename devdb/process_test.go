package devdb_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/devdb"
)

func TestCleanRestartKeepsTheData(t *testing.T) {
	t.Parallel()
	for _, sync := range []bool{false, true} {
		t.Run(fmt.Sprintf("sync=%v", sync), func(t *testing.T) {
			t.Parallel()
			cfg := devdb.Config{Data: dataDir(t), User: "admin", Password: `it's "quoted" \ and 👻`, Sync: sync}
			for n := range 3 {
				db := start(t, cfg)
				c := signedIn(t, targetOf(db))
				c.query(nil, "CREATE t")
				var count int
				c.query(&count, "RETURN count(SELECT * FROM t)")
				if count != n+1 {
					t.Errorf("%d rows after %d starts", count, n+1)
				}
				if err := db.Close(); err != nil {
					t.Fatalf("close: %v", err)
				}
				<-db.Done()
				<-c.ended
				if err := db.Err(); err != nil {
					t.Errorf("a clean end has the reason %v", err)
				}
			}
		})
	}
}

// Every write that was acknowledged before a kill -9 is there afterwards.
func TestKillKeepsAcknowledgedWrites(t *testing.T) {
	t.Parallel()
	cfg := devdb.Config{Data: dataDir(t)}
	const writers, rounds, enough = 16, 3, 400
	acked := make(chan int, 1<<20)
	var next atomic.Int64
	for range rounds {
		db := start(t, cfg)
		signedIn(t, targetOf(db)).query(nil, "DEFINE TABLE IF NOT EXISTS t")
		var count atomic.Int64
		reached := make(chan struct{})
		var wg sync.WaitGroup
		for range writers {
			c := signedIn(t, targetOf(db))
			wg.Go(func() {
				for {
					i := int(next.Add(1))
					_, err := c.rows(c.call("query", "CREATE type::record('t', $i)", map[string]any{"i": i}))
					if err != nil {
						return
					}
					acked <- i
					if count.Add(1) == enough {
						close(reached)
					}
				}
			})
		}
		<-reached
		if err := db.Kill(); err != nil {
			t.Fatal(err)
		}
		wg.Wait()
		if err := db.Err(); !errors.Is(err, devdb.ErrKilled) {
			t.Errorf("the reason is %v", err)
		}
	}
	close(acked)

	var ids []int
	signedIn(t, targetOf(start(t, cfg))).query(&ids, "SELECT VALUE record::id(id) FROM t")
	kept := make(map[int]bool, len(ids))
	for _, id := range ids {
		kept[id] = true
	}
	for i := range acked {
		if !kept[i] {
			t.Fatalf("row %d was acknowledged and is lost", i)
		}
	}
}

func TestStartRefuses(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	inUse := start(t, devdb.Config{Data: dataDir(t), Password: "right"})
	old := dataDir(t)
	if err := start(t, devdb.Config{Data: old, Password: "right"}).Close(); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("not a directory"), 0o600); err != nil {
		t.Fatal(err)
	}

	for name, tc := range map[string]struct {
		cfg    devdb.Config
		reason devdb.Reason
		says   string
	}{
		"port in use":       {devdb.Config{Listen: taken.Addr().String()}, devdb.ReasonPort, "is in use"},
		"every interface":   {devdb.Config{Listen: "0.0.0.0:0"}, devdb.ReasonUsage, "loopback only"},
		"another address":   {devdb.Config{Listen: "192.0.2.1:80"}, devdb.ReasonUsage, "loopback only"},
		"no port":           {devdb.Config{Listen: "127.0.0.1"}, devdb.ReasonUsage, "HOST:PORT"},
		"locked data":       {devdb.Config{Data: inUse.DataDir()}, devdb.ReasonLocked, "in use by another development database"},
		"data is a file":    {devdb.Config{Data: file}, devdb.ReasonData, "choose another --data"},
		"data below a file": {devdb.Config{Data: filepath.Join(file, "x")}, devdb.ReasonData, "choose another --data"},
		"other password":    {devdb.Config{Data: old, Password: "wrong"}, devdb.ReasonCredentials, "another password"},
	} {
		t.Run(name, func(t *testing.T) {
			if tc.cfg.Listen == "" {
				tc.cfg.Listen = "127.0.0.1:0"
			}
			db, err := devdb.Start(t.Context(), tc.cfg)
			if err == nil {
				db.Close()
				t.Fatal("it started")
			}
			var refusal *devdb.StartError
			if !errors.As(err, &refusal) || refusal.Reason != tc.reason {
				t.Fatalf("got %v, want reason %s", err, tc.reason)
			}
			if text := err.Error(); !strings.Contains(text, tc.says) || strings.Contains(text, "\n") {
				t.Errorf("says %q, want one line with %q", text, tc.says)
			}
		})
	}
	// Whoever was there before is still there.
	signedIn(t, targetOf(inUse)).query(nil, "RETURN 1")
}

func TestTemporaryDataIsRemoved(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*devdb.Server) error{"close": (*devdb.Server).Close, "kill": (*devdb.Server).Kill} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := start(t, devdb.Config{})
			dir := db.DataDir()
			if _, err := os.Stat(filepath.Join(dir, "CURRENT")); err != nil {
				t.Fatal(err)
			}
			if err := end(db); err != nil {
				t.Fatal(err)
			}
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s is left behind (%v)", dir, err)
			}
			if err := db.Close(); err != nil {
				t.Errorf("close again: %v", err)
			}
		})
	}
}

// An end nobody asked for is told with its reason.
func TestUnaskedEnd(t *testing.T) {
	t.Parallel()
	db := start(t, devdb.Config{Log: io.Discard})
	c := signedIn(t, targetOf(db))
	// The engine has no limit for this, and no stack is enough.
	c.query(nil, "DEFINE FUNCTION fn::endless($n: int) { RETURN fn::endless($n + 1) }")
	if _, err := c.call("query", "RETURN fn::endless(0)"); err == nil {
		t.Skip("this engine stands endless functions")
	}
	<-db.Done()
	if err := db.Err(); err == nil || !strings.Contains(err.Error(), "the development database ended: signal:") {
		t.Errorf("the reason is %v", err)
	}
	if err := db.Close(); err == nil {
		t.Error("closing a database that has crashed tells nothing")
	}
}

func TestStartIsCanceled(t *testing.T) {
	t.Parallel()
	start(t, devdb.Config{}) // installed
	ctx, cancel := context.WithCancelCause(t.Context())
	changed := errors.New("changed my mind")
	cancel(changed)
	if _, err := devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0"}); !errors.Is(err, changed) {
		t.Errorf("got %v", err)
	}
}

// Starting and ending, also in the middle of starting, leaves nothing behind in this process.
func TestStartAndStopLeakNothing(t *testing.T) {
	if err := startHere(t.Context()); err != nil {
		t.Fatal(err)
	}
	before := goleak.IgnoreCurrent()
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, after := range []time.Duration{0, 30, 60, 100, 150, 200, 300, 10_000} {
		ctx, cancel := context.WithTimeout(t.Context(), after*time.Millisecond)
		if err := startHere(ctx); err != nil && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("canceled after %d ms: %v", after, err)
		}
		cancel()
	}
	goleak.VerifyNone(t, before)
	if left, err := os.ReadDir(tmp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
}
