package ssp

import (
	"testing"
	"time"

	"github.com/surrealdb/surrealdb.go"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// attempt runs a request that may fail.
func (r *rig) attempt(surql string) error { return surreal.Exec(r.ctx, r.db, surql, nil) }

// A way of writing jobs and how many it writes.
type way struct {
	jobs  int
	write func(r *rig)
}

func writing(jobs int, surql string) way { return way{jobs, func(r *rig) { r.exec(surql, nil) }} }

func runWays(t *testing.T, ways map[string]way, change ...func(*Config)) {
	t.Helper()
	r := newJobs(t)
	r.exec(`DEFINE FUNCTION fn::enqueue($id: record) { CREATE $id SET path = '/x' RETURN NONE; };
		DEFINE TABLE page SCHEMALESS; DEFINE EVENT made ON page WHEN $event = 'CREATE' THEN { CREATE job:event SET path = '/x' };`, nil)
	s := serve(t, nil)
	r.start(s.backends(), change...)
	want := 0
	for name, way := range ways {
		way.write(r)
		want += way.jobs
		r.eventually("what was written so runs: "+name, func() bool { return r.count("job", "success") == want })
	}
	if got := len(s.requests()); got != want {
		t.Errorf("%d requests for %d jobs", got, want)
	}
}

// TestJobsThatAreAnnouncedNeedNoSweep writes jobs in the ways that notify, with the next sweep an hour away.
func TestJobsThatAreAnnouncedNeedNoSweep(t *testing.T) {
	t.Parallel()
	runWays(t, map[string]way{
		"one statement":          writing(1, "CREATE job:plain SET path = '/x'"),
		"two statements":         writing(2, "CREATE job:two1 SET path = '/x'; CREATE job:two2 SET path = '/x'"),
		"many in one INSERT":     writing(2, "INSERT INTO job [{ id: 'insert', path: '/x' }, { id: 'insert2', path: '/x' }]"),
		"UPSERT":                 writing(1, "UPSERT job:upsert SET path = '/x'"),
		"function":               writing(1, "RETURN fn::enqueue(job:function)"),
		"event of another table": writing(1, "CREATE page:1"),
		"transaction":            writing(1, "BEGIN; LET $x = 1; SELECT * FROM job; CREATE job:tx SET path = '/x'; COMMIT"),
	}, func(c *Config) { c.SweepInterval = time.Hour })
}

// TestReport3SilentWritesAreFoundBySweeps writes jobs in the ways that notify nobody.
func TestReport3SilentWritesAreFoundBySweeps(t *testing.T) {
	t.Parallel()
	runWays(t, map[string]way{
		"after LET":           writing(1, "LET $o = 1; CREATE job:let SET path = '/x'"),
		"after SELECT":        writing(1, "SELECT * FROM job; CREATE job:select SET path = '/x'"),
		"after SELECT and tx": writing(1, "SELECT * FROM job; BEGIN; CREATE job:selecttx SET path = '/x'; COMMIT"),
		"after a failure":     {1, func(r *rig) { _ = r.attempt("CREATE job; CREATE job:failure SET path = '/x'") }},
		"RPC transaction":     {1, writeInRPCTransaction},
	})
}

func writeInRPCTransaction(r *rig) {
	r.tb.Helper()
	db, err := r.db.DB(r.ctx)
	if err != nil {
		r.tb.Fatal(err)
	}
	tx, err := db.Begin(r.ctx)
	if err != nil {
		r.tb.Fatal(err)
	}
	if _, err := surrealdb.Query[any](r.ctx, tx, "CREATE job:rpc SET path = '/x'", nil); err != nil {
		r.tb.Fatal(err)
	}
	if err := tx.Commit(r.ctx); err != nil {
		r.tb.Fatal(err)
	}
}

// TestReport14WhatIsNotCommittedNeverRuns aborts transactions that wrote jobs, in each way there is.
func TestReport14WhatIsNotCommittedNeverRuns(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends())
	for _, surql := range []string{
		"BEGIN; CREATE job:1 SET path = '/no'; THROW 'no'; COMMIT",
		"BEGIN; CREATE job:2 SET path = '/no'; CANCEL",
		"BEGIN; CREATE job:3 SET path = '/no'; CREATE job:3 SET path = '/no'; COMMIT",
		"BEGIN; CREATE job:4 SET path = '/no'; SLEEP 300ms; THROW 'late'; COMMIT",
		"BEGIN; CREATE job:5 SET path = '/no'; DELETE job:5; COMMIT",
	} {
		_ = r.attempt(surql)
	}
	r.settled(r.job("yes", "/yes", nil), "success")
	if got := s.requests(); len(got) != 1 {
		t.Errorf("requests are %+v, want only that of the committed job", got)
	}
}

// TestADeletedJobNeverRuns deletes jobs that wait, for a slot or for their time.
func TestADeletedJobNeverRuns(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s, g := held(t)
	n := r.start([]config.Backend{s.backend(func(b *config.Backend) { b.Concurrency = 1 })})
	first := r.job("first", "/first", nil)
	r.eventually("the slot is taken", func() bool { return g.inside.Load() == 1 })
	r.job("queued", "/no", nil)
	r.job("delayed", "/no", map[string]any{"delay": 300})
	r.eventually("both are known", func() bool { _, queued := n.lanes[0].held(); return queued == 2 })
	r.exec("DELETE job:queued, job:delayed RETURN NONE", nil)
	last := r.job("last", "/last", map[string]any{"delay": 400})
	g.release()
	r.settled(first, "success")
	r.settled(last, "success")
	if got := s.requests("/no"); len(got) > 0 {
		t.Errorf("deleted jobs ran: %+v", got)
	}
}

// TestAFinishedJobSetToPendingByHandRunsAgain does so with a plain UPDATE, for each way to be finished.
func TestAFinishedJobSetToPendingByHandRunsAgain(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, at(code(500), code(200)))
	r.start(s.backends())
	for key, sets := range map[string]string{"failed": "status = 'pending'", "reset": "status = 'pending', retries = 0, errors = []"} {
		id := r.job(key, "/"+key, map[string]any{"max_retries": 1})
		r.settled(id, "failed")
		r.exec("UPDATE $id SET "+sets+" RETURN NONE", map[string]any{"id": id})
		r.eventually("it runs again", func() bool { return len(s.requests("/"+key)) == 2 })
	}
	if row := r.settled(surreal.NewRecordID("job", "failed"), "success"); row.Retries != 1 {
		t.Errorf("the job that was set to pending is %+v", row)
	}
	id := surreal.NewRecordID("job", "failed")
	r.exec("UPDATE $id SET status = 'pending' RETURN NONE", map[string]any{"id": id})
	r.eventually("a success runs again, too", func() bool { return len(s.requests("/failed")) == 3 })
	r.settled(id, "success")
}

// TestWhatRunsIsWhatWasCommitted changes the job after its CREATE, in the same transaction and by an event.
func TestWhatRunsIsWhatWasCommitted(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends())
	r.exec("DEFINE EVENT amend ON job WHEN $event = 'CREATE' THEN { UPDATE $after.id SET payload = 'amended by an event' }", nil)
	r.exec("BEGIN; CREATE job:tx SET path = '/draft', payload = 1; UPDATE job:tx SET path = '/final'; COMMIT", nil)
	r.settled(surreal.NewRecordID("job", "tx"), "success")
	if got := s.requests(); len(got) != 1 || got[0].Path != "/final" || got[0].Body != `"amended by an event"` {
		t.Errorf("requests are %+v", got)
	}
}
