package admin

import (
	"errors"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

func TestExplainAJobThatIsNotDue(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.job("later", "{ path: '/x', delay: 3600000 }")
	both := r.explains(id, "not_due", "no_node")
	r.says(both.Causes[0], "delay of 1 h", "in 59 min (", "spky jobs cancel job:later")
	r.node(backend(newStub(t, 200, "").URL))
	r.explains("later", "not_due")
	longest := r.explains(r.job("longest", "{ path: '/x', delay: 9223372036854775807 }"), "not_due")
	r.says(longest.Causes[0], "delay of 365 d", "in 364 d (")
}

func TestExplainAJobThatBacksOff(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	s := newStub(t, 500, "out of paper")
	s.header.Set("Retry-After", "60")
	r.node(backend(s.URL))
	id := r.job("a-b", "{ path: '/x' }")
	c := r.explains(id, "backing_off").Causes[0]
	r.says(c, "Attempt 1 of 3 failed", `500 "out of paper"`, "the next begins in ", "spky jobs cancel 'job:`a-b`'")
	r.explains("job:a-b", "backing_off") // as people write it
}

func TestExplainNoNode(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.job("x", "{ path: '/x' }")
	r.says(r.explains(id, "no_node").Causes[0], "spky run")
	r.exec("DEFINE TABLE elsewhere; DEFINE FIELD lease_epoch ON elsewhere TYPE option<int>; CREATE elsewhere:x SET path = '/x'", nil)
	r.node(backend(newStub(t, 200, "").URL))
	r.explains(id, "succeeded")
	r.says(r.explains(r.settledElsewhere(), "no_node_for_table", "no_backend").Causes[0], "1 node is alive", "method.table: elsewhere")
}

// settledElsewhere is a pending job of a table that nobody knows.
func (r *explainRig) settledElsewhere() string {
	r.exec("UPDATE elsewhere:x SET status = 'pending', run_at = time::now()", nil)
	return "elsewhere:x"
}

func TestExplainNodesThatDrain(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	s := newStub(t, hang, "")
	node, stop := r.node(backend(s.URL), func(c *ssp.Config) { c.ShutdownGrace = patience })
	running := r.job("running", "{ path: '/x' }")
	r.says(r.explains(running, "running").Causes[0], node, "attempt 1 of 3", "lease that ends in ", "for ", "spky jobs cancel job:running")
	done := make(chan struct{})
	go func() { defer close(done); stop() }()
	r.says(r.explains(r.job("x", "{ path: '/x' }"), "nodes_draining").Causes[0], node)
	r.says(r.explains(running, "running").Causes[0], "shutting down")
	s.CloseClientConnections()
	<-done
}

func TestExplainAnOpenCircuit(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	node, _ := r.node(backend(nowhere(t)))
	id := r.job("x", "{ path: '/x' }")
	e := r.explains(id, "circuit_open", "unreached")
	r.says(e.Causes[0], "api has been open for ", "connection refused", node)
	r.says(e.Causes[1], "does not count as an attempt")
	r.explains(r.job("later", "{ path: '/x', delay: 3600000 }"), "not_due", "circuit_open")
}

func TestExplainFullSlots(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	s := newStub(t, hang, "")
	node, _ := r.node(backend(s.URL, func(b *config.Backend) { b.Concurrency = 1 }))
	r.explains(r.job("first", "{ path: '/x' }"), "running")
	second, third := r.job("second", "{ path: '/x' }"), r.job("third", "{ path: '/x' }")
	r.says(r.explains(second, "slots_full").Causes[0], "none is due before it")
	r.says(r.explains(third, "slots_full").Causes[0], node+" 1 of 1", "1 job is due before it", "method.concurrency of api", "ahead:1")
}

// TestExplainALostNode cuts a node off that holds two jobs, one of them under a short lease.
func TestExplainALostNode(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	proxy, err := faultproxy.Listen(r.cfg.Endpoint)
	r.check(err)
	t.Cleanup(func() { _ = proxy.Close() })
	s := newStub(t, hang, "")
	node, _ := r.node(backend(s.URL, func(b *config.Backend) { b.TimeoutOverridable = true }), func(c *ssp.Config) { c.DB.Endpoint = "ws://" + proxy.Addr() + "/rpc" })
	t.Cleanup(proxy.Restore) // so that it can say goodbye
	long, short := r.job("long", "{ path: '/x' }"), r.job("short", "{ path: '/x', timeout: 1 }")
	r.explains(long, "running")
	r.explains(short, "running")
	proxy.Blackhole(true)
	r.exec("fn::spky::job::cancel(job:long, 'cancelled')", nil)
	r.says(r.explains(long, "cancel_requested", "running").Causes[0], node, "was asked for")
	e := r.explains(long, "cancel_requested", "holder_gone", "no_node")
	r.says(e.Causes[1], node, "was last heard of 1")
	r.says(e.Causes[2], "the last one, "+node)
	r.says(r.explains(short, "lease_expired", "no_node").Causes[0], node)
	r.exec("DELETE _00_node", nil)
	r.says(r.explains(long, "cancel_requested", "holder_gone", "no_node").Causes[1], "is gone")
}

func TestExplainAJobThatWasTakenBack(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	id := r.job("x", "{ path: '/x' }")
	lose := func() {
		r.exec("UPDATE job:x SET status = 'processing', run_at = NONE, assignee = 'ghost'", nil)
		r.explains(id, "holder_gone", "no_node")
		r.exec("fn::spky::job::reap([job:x], 'cancelled')", nil)
	}
	lose()
	r.says(r.explains(id, "no_node", "taken_back").Causes[1], "attempt 1 of 3", "node ghost is gone")
	for range 5 {
		lose()
	}
	r.says(r.explains(id, "lost_too_often").Causes[0], "lost 6 times", "spky jobs retry job:x")
	r.exec("UPDATE job:x SET status = 'processing', run_at = NONE, assignee = NONE", nil)
	r.explains(id, "no_holder", "no_node")
}

func TestExplainJobsThatHaveEnded(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	s := newStub(t, 200, "")
	r.node(backend(s.URL, func(b *config.Backend) { b.RetryOn = config.RetryTransient }))
	r.says(r.explains(r.job("good", "{ path: '/x' }"), "succeeded").Causes[0], "in attempt 1", "spky jobs retry job:good")
	s.status.Store(http.StatusBadGateway)
	r.says(r.explains(r.job("bad", "{ path: '/x', max_retries: 2 }"), "attempts_exhausted").Causes[0], "All 2 attempts failed", "502", "Bad Gateway")
	r.says(r.explains(r.job("once", "{ path: '/x', max_retries: 1 }"), "attempts_exhausted").Causes[0], "Its only attempt failed", "502")
	s.status.Store(http.StatusTeapot)
	r.says(r.explains(r.job("final", "{ path: '/x' }"), "not_retried").Causes[0], "Attempt 1 of 3", "418", "retryOn")
	r.says(r.explains(r.job("escape", "{ path: '/../x' }"), "refused").Causes[0], "sent no request", "..")
	r.says(r.explains(r.job("forged", "{ path: '/__spky/workflow/ALPHA', payload: { instance: 'x' } }"), "refused").Causes[0], "/__spky/")
	r.job("gone", "{ path: '/x', delay: 100000 }")
	r.exec("fn::spky::job::cancel(job:gone, 'failed')", nil) // as on a table that does not know the word
	r.says(r.explains("job:gone", "cancelled").Causes[0], "cancelled before it ran")
	r.job("mute", "{ path: '/x', delay: 100000 }")
	r.exec("UPDATE job:mute SET status = 'failed'", nil)
	r.explains("job:mute", "failed")
}

func TestExplainWhatIsNotThere(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.exec("CREATE user:ann SET status = 'pending', path = '/secret'", nil) // no job, and nobody's business
	for _, id := range []string{"user:ann", "job:nobody", "nowhere:x", "nobody", "_00_wf_instance:nobody"} {
		e, err := r.explainer.Any(r.ctx, id)
		if !errors.Is(err, ErrNotFound) || e.State != "missing" || len(e.Causes) != 1 || e.Causes[0].Code != "not_found" {
			t.Errorf("%s: %+v, %v", id, e, err)
		}
		r.sound(e)
	}
	for _, id := range []string{"", "_00_node:x"} {
		_, err := r.explainer.Job(r.ctx, id)
		wants(t, id, err, new(*InputError), "job")
	}
	r.exec("REMOVE TABLE _00_node; REMOVE FUNCTION fn::spky::node::live", nil)
	r.explains(r.job("x", "{ path: '/x' }"), "no_node")
}

func TestExplainForeignWrites(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.exec("DEFINE FIELD OVERWRITE status ON job TYPE any; DEFINE FIELD OVERWRITE errors ON job TYPE any; DEFINE FIELD OVERWRITE path ON job TYPE any", nil)
	r.says(r.explains(r.job("odd", "{ path: '/x', status: 'done\u001b[31m' }"), "unknown_status").Causes[0], `"done\x1b[31m"`)
	r.exec("CREATE job:wild SET status = 7, path = /re.*gex/, errors = 'none', retries = 3, max_retries = -4, created_at = time::now(), updated_at = time::now(), retry_strategy = 'linear' RETURN NONE", nil)
	r.explains("job:wild", "unknown_status")
	r.exec("CREATE job:long SET status = 'failed', path = '/x', errors = [{ code: [1], reason: 7 }]", nil)
	r.explains("job:long", "failed")
	r.exec("OPTION IMPORT; CREATE job:stray SET status = 'pending', path = '/x', retries = 0, max_retries = 3, errors = [], created_at = time::now(), updated_at = time::now(), retry_strategy = 'linear'", nil)
	r.explains("job:stray", "no_node", "unscheduled")
	long := strings.Repeat("x", 5000)
	e := r.explains(r.job(long, "{ path: '/x', status: 'pending', errors: [] }"), "no_node")
	if len(e.Causes[0].Sentence) > 1000 {
		t.Error("a sentence has no bounds")
	}
}

func TestExplainATableThatRefuses(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.node(backend(newStub(t, 200, "").URL))
	r.exec("DEFINE FIELD OVERWRITE assignee ON job TYPE option<string> ASSERT $value = NONE", nil)
	r.says(r.explains(r.job("x", "{ path: '/x' }"), "table_refuses").Causes[0], "assignee", "spky doctor")
}

// TestExplainADueJob writes a node's row itself: one that lives does not leave such a job alone.
func TestExplainADueJob(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.exec("DELETE job", nil)
	first := r.job("first", "{ path: '/x' }")
	second := r.job("second", "{ path: '/x' }")
	r.exec(`CREATE _00_node:quiet SET node = 'quiet', host = 'h', pid = 1, version = 'x', started_at = time::now(), heartbeat_at = time::now() + 1h,
		backends = [{ name: 'api', table: 'job', slots: 4, busy: 0, circuit: 'closed', feed: false }]`, nil)
	r.says(r.explains(first, "due").Causes[0], "quiet should claim it", "Notifications of the table are down")
	r.says(r.explains(second, "behind_others").Causes[0], "1 job is due before it")
	r.exec("UPDATE job:first SET run_at = time::now() - 1m", nil)
	r.says(r.explains(first, "overdue").Causes[0], "for 1 min (since ", "spky doctor")
}

func TestExplainAJobInItsPartitionsQueue(t *testing.T) {
	t.Parallel()
	r := newExplainRig(t)
	r.node(backend(newStub(t, hang, "").URL, func(b *config.Backend) { b.PartitionBy, b.PartitionConcurrency = "payload.tenant", 1 }))
	r.explains(r.job("first", "{ path: '/x', payload: { tenant: 1 } }"), "running")
	r.says(r.explains(r.job("second", "{ path: '/x', payload: { tenant: 1 } }"), "partition_full").Causes[0], "the queue of its partition", "method.partitionConcurrency of api")
	r.explains(r.job("other", "{ path: '/x', payload: { tenant: 2 } }"), "running")
}

func TestMomentsAndSpans(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 4, 15, 1, 5, 0, time.UTC)
	for want, at := range map[string]time.Time{
		"in 3 min (15:04:05Z)":             now.Add(3 * time.Minute),
		"3 min 20 s ago (14:57:45Z)":       now.Add(-200 * time.Second),
		"in 2 d (2026-03-06 16:01:05Z)":    now.Add(49 * time.Hour),
		"1.5 s ago (15:01:03Z)":            now.Add(-1500 * time.Millisecond),
		"0 ms ago (15:01:05Z)":             now,
		"in 12 h (2026-03-05 03:01:05Z)":   now.Add(12 * time.Hour).In(time.FixedZone("x", 3600)),
		"42 s ago (15:00:23Z)":             now.Add(-42 * time.Second),
		"45 min ago (14:16:05Z)":           now.Add(-45 * time.Minute),
		"365 d ago (2025-03-04 15:01:05Z)": now.Add(-365 * 24 * time.Hour),
	} {
		if got := moment(at, now); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for text, want := range map[string]string{"job:a1": "job:a1", "job:`a-b`": "'job:`a-b`'", "it's": `'it'\''s'`, "a\x1b'\n": `$'a\x1b\'\n'`, "": "''"} {
		if got := word(text); got != want {
			t.Errorf("%q is quoted as %s, want %s", text, got, want)
		}
	}
}

// TestTheDocsListEveryCause holds docs/observability.md against the codes.
func TestTheDocsListEveryCause(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "| of | codes |")
	table, _, _ := strings.Cut(rest, "\n\n")
	told := map[string]bool{}
	for _, m := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(table, -1) {
		told[m[1]] = true
	}
	for _, code := range CauseCodes() {
		if !told[code] {
			t.Errorf("%s is not in the docs", code)
		}
		delete(told, code)
	}
	for code := range told {
		t.Errorf("%s is in the docs alone", code)
	}
}
