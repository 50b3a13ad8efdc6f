package integration_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

// patience is how long a test waits for what must happen; a busy machine needs much of it.
const patience = 2 * time.Minute

// A database is one database and the test's own connection to it, as root.
type database struct {
	tb     testing.TB
	cfg    surreal.Config
	client *surreal.Client
}

// fresh is a database of the test's own on the shared server, with the table job as `spky add api` writes it.
func fresh(tb testing.TB) *database {
	tb.Helper()
	db := empty(tb)
	db.define("job")
	return db
}

func empty(tb testing.TB) *database {
	tb.Helper()
	t := devdbtest.Fresh(tb)
	return connect(tb, surreal.Config{
		Endpoint: t.Endpoint, Namespace: t.Namespace, Database: t.Database, Username: t.User, Password: t.Password,
	})
}

func connect(tb testing.TB, cfg surreal.Config) *database {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	patient := cfg
	patient.DialTimeout, patient.PingTimeout = patience, patience // the server serves many tests at once
	client, stop, err := surreal.Connect(ctx, patient)
	if err != nil {
		tb.Fatalf("connect: %v", err)
	}
	tb.Cleanup(func() {
		if err := stop(); err != nil {
			tb.Errorf("close the connection: %v", err)
		}
	})
	return &database{tb: tb, cfg: cfg, client: client}
}

// define applies the outbox schema that users get.
func (db *database) define(table string) {
	db.tb.Helper()
	text, err := config.OutboxSchema(table, config.OutboxOptions{})
	if err != nil {
		db.tb.Fatal(err)
	}
	db.exec(text, nil)
}

func (db *database) exec(surql string, vars map[string]any) {
	db.tb.Helper()
	if err := db.try(surql, vars); err != nil {
		db.tb.Fatalf("%.300s: %v", surql, err)
	}
}

func (db *database) try(surql string, vars map[string]any) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return surreal.Exec(ctx, db.client.Retrying(), surql, vars)
}

// query answers with the last statement's value.
func query[T any](db *database, surql string, vars map[string]any) T {
	db.tb.Helper()
	value, err := ask[T](db, surql, vars)
	if err != nil {
		db.tb.Fatalf("%s: %v", surql, err)
	}
	return value
}

func ask[T any](db *database, surql string, vars map[string]any) (T, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	return surreal.Last[T](ctx, db.client.Retrying(), surql, vars)
}

// An entry is one element of a job's errors.
type entry struct {
	Code    any       `json:"code"`
	Reason  string    `json:"reason"`
	At      time.Time `json:"at"`
	Attempt int       `json:"attempt"`
}

// A row is a job as stored.
type row struct {
	ID       surreal.RecordID `json:"id"`
	Status   string           `json:"status"`
	Retries  int              `json:"retries"`
	Errors   []entry          `json:"errors"`
	Result   any              `json:"result"`
	Assignee *string          `json:"assignee"`
	Epoch    *int64           `json:"lease_epoch"`
	Until    *time.Time       `json:"lease_until"`
	RunAt    *time.Time       `json:"run_at"`
	Created  time.Time        `json:"created_at"`
	Updated  time.Time        `json:"updated_at"`
}

func (r row) key() string { return surreal.FormatID(r.ID) }

// jobs reads rows; where limits them, "" does not.
func (db *database) jobs(where string) []row {
	db.tb.Helper()
	if where != "" {
		where = " WHERE " + where
	}
	return query[[]row](db, "SELECT * FROM job"+where, nil)
}

func (db *database) job(id surreal.RecordID) row {
	db.tb.Helper()
	rows := query[[]row](db, "SELECT * FROM $id", map[string]any{"id": id})
	if len(rows) != 1 {
		db.tb.Fatalf("%s: %d rows", surreal.FormatID(id), len(rows))
	}
	return rows[0]
}

// create writes one job and answers with its id.
func (db *database) create(columns map[string]any) surreal.RecordID {
	db.tb.Helper()
	content := map[string]any{"path": "/task", "payload": map[string]any{}}
	for name, value := range columns {
		content[name] = value
	}
	return query[[]row](db, "CREATE job CONTENT $content", map[string]any{"content": content})[0].ID
}

// insert writes n jobs in batches, with the ids job:⟨prefix⟩_0 and so on. Written again after an
// error whose outcome is unknown, what is there already stays as it is.
func (db *database) insert(prefix string, n int) error {
	const batch = 50
	for from := 0; from < n; from += batch {
		var rows []map[string]any
		for i := from; i < min(from+batch, n); i++ {
			rows = append(rows, map[string]any{
				"id": surreal.RecordID{Table: "job", ID: fmt.Sprintf("%s_%d", prefix, i)}, "path": "/task", "payload": map[string]any{"n": i},
			})
		}
		for {
			err := db.try("INSERT IGNORE INTO job $rows RETURN NONE", map[string]any{"rows": rows})
			if err == nil {
				break
			}
			if !surreal.IsUnreachable(err) {
				return fmt.Errorf("insert jobs: %w", err)
			}
		}
	}
	return nil
}

// mustInsert is insert where no failure is expected.
func (db *database) mustInsert(prefix string, n int) {
	db.tb.Helper()
	if err := db.insert(prefix, n); err != nil {
		db.tb.Fatal(err)
	}
}

// census counts the jobs by status.
func (db *database) census() map[string]int {
	db.tb.Helper()
	counts := map[string]int{}
	type group struct {
		Status string `json:"status"`
		N      int    `json:"n"`
	}
	groups, err := ask[[]group](db, "SELECT status, count() AS n FROM job GROUP BY status", nil)
	if err != nil {
		return map[string]int{"unknown: " + err.Error(): 1}
	}
	for _, g := range groups {
		counts[g.Status] = g.N
	}
	return counts
}

// settled waits until all of n jobs have ended as success.
func (db *database) settled(n int) {
	db.tb.Helper()
	eventually(db.tb, fmt.Sprintf("%d jobs end as success", n), func() (bool, any) {
		counts := db.census()
		return counts["success"] == n, counts
	})
}

// eventually waits until done says so. What it says beside is shown where it never does.
func eventually(tb testing.TB, what string, done func() (bool, any)) {
	tb.Helper()
	var state any
	if !soon(patience, func() (ok bool) { ok, state = done(); return ok }) {
		tb.Fatalf("within %s not so: %s; the last state: %v", patience, what, state)
	}
}

// soon looks again and again whether something is so; false where it is not within the limit.
func soon(limit time.Duration, done func() bool) bool {
	over := time.After(limit)
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-again.C:
		case <-over:
			return false
		}
	}
	return true
}

// A mortal database is a server of the test's own, which can be killed and started again on the same
// data and the same port.
type mortal struct {
	*database
	server *devdb.Server
	config devdb.Config
}

func newMortal(tb testing.TB) *mortal {
	tb.Helper()
	m := &mortal{config: devdb.Config{Listen: "127.0.0.1:0", Data: filepath.Join(tb.TempDir(), "data"), Log: io.Discard}}
	m.start(tb)
	endpoint, err := url.Parse(m.server.Endpoint())
	if err != nil {
		tb.Fatal(err)
	}
	m.config.Listen = endpoint.Host
	tb.Cleanup(func() {
		if err := m.server.Close(); err != nil && !errors.Is(err, devdb.ErrKilled) {
			tb.Errorf("close the database: %v", err)
		}
	})
	m.database = connect(tb, surreal.Config{
		Endpoint: m.server.Endpoint(), Namespace: "test", Database: "test",
		Username: m.server.User(), Password: m.server.Password(), MaxBackoff: 200 * time.Millisecond,
	})
	m.define("job")
	return m
}

func (m *mortal) start(tb testing.TB) {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	server, err := devdb.Start(ctx, m.config)
	if err != nil {
		tb.Fatalf("start the database: %v", err)
	}
	m.server = server
}

func (m *mortal) kill() {
	m.tb.Helper()
	if err := m.server.Kill(); err != nil {
		m.tb.Fatalf("kill the database: %v", err)
	}
}

// freeAddress is an address of loopback where nobody listens now.
func freeAddress(tb testing.TB) string {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().String()
}
