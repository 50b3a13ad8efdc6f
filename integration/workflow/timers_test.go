package workflow_test

import (
	"context"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// sleepers is how many instances TestManySleepers puts to sleep; SPKY_TEST_SLEEPERS=10000 says otherwise.
func sleepers() int {
	if n, err := strconv.Atoi(os.Getenv("SPKY_TEST_SLEEPERS")); err == nil {
		return n
	}
	return 300
}

// counting counts the requests of one database user.
type counting struct {
	surreal.Querier
	n atomic.Int64
}

func (c *counting) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	c.n.Add(1)
	return c.Querier.Query(ctx, surql, vars)
}

// TestManySleepers: while instances sleep they cost no request of the engine, no lease and no more
// than one job each; then all wake. How late they do, and what they cost in memory, is printed.
func TestManySleepers(t *testing.T) {
	t.Parallel()
	n := sleepers()
	r := newDatabase(t)
	db := &counting{Querier: r.DB.Retrying()}
	engine := r.newEngine(wf.Config{DB: db})
	flow := wf.Register(engine, "SLEEP", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return 0, s.Sleep(ctx, "s", time.Hour)
	})
	r.StartNode(r.Serve(engine.Handler(http.NotFoundHandler())))
	before := heap()
	for done := 0; done < n; done += 100 {
		_, err := flow.CreateBatch(t.Context(), make([]wf.NewInstance[int], min(100, n-done)))
		check(t, err)
	}
	r.Poll("all sleep", func() (bool, any) {
		return r.count("_00_wf_instance", "waiting") == n, r.count("_00_wf_instance", "waiting")
	})
	r.Poll("all first jobs are done", func() (bool, any) { return r.count("job", "success") == n, r.count("job", "success") })
	asleep := db.n.Load()
	if jobs, leases := r.count("job", "pending"), read[int](r, "RETURN array::len(SELECT id FROM _00_wf_instance WHERE lease_token != NONE)", nil); jobs != n || leases != 0 {
		t.Errorf("%d instances sleep with %d jobs and %d leases", n, jobs, leases)
	}
	t.Logf("%d sleepers: %d KiB of heap more than before, %.1f requests of the engine each", n, (heap()-before)/1024, float64(asleep)/float64(n))
	if db.n.Load() != asleep {
		t.Errorf("the engine made %d requests while all slept", db.n.Load()-asleep)
	}
	// The hour is over, but for a little; then they wake 5 ms apart, or as this database lets them.
	all := read[[]surreal.RecordID](r, "SELECT VALUE id FROM _00_wf_step", nil)
	wake := read[time.Time](r, "RETURN time::now()", nil).Add(time.Second + time.Duration(n)*8*time.Millisecond)
	for slice := range slices.Chunk(all, 250) {
		r.Exec(`FOR $step IN $steps {
			LET $wake = $from + duration::from_millis(5 * array::find_index($steps, $step));
			LET $instance = UPDATE ONLY (UPDATE ONLY $step SET wake_at = $wake).instance SET wake_at = $wake;
			UPDATE ONLY $instance.job SET run_at = $wake RETURN NONE;
		}`, map[string]any{"steps": slice, "from": wake})
		wake = wake.Add(250 * 5 * time.Millisecond)
	}
	nearly := time.NewTimer(time.Until(wake))
	defer nearly.Stop()
	<-nearly.C
	r.Poll("none waits, is queued or runs", func() (bool, any) { // costs next to nothing, unlike counting
		left := read[[]surreal.RecordID](r, `RETURN array::flatten(['waiting', 'queued', 'running'].map(|$s| (SELECT VALUE id FROM _00_wf_instance WHERE status = $s LIMIT 1)))`, nil)
		return len(left) == 0, left
	})
	lateness := read[[]time.Duration](r, "SELECT VALUE finished_at - wake_at FROM _00_wf_step", nil)
	if len(lateness) != n {
		t.Fatalf("%d steps", len(lateness))
	}
	slices.Sort(lateness)
	t.Logf("woken %s late at the median, %s at p99, %s at worst", lateness[n/2], lateness[n*99/100], lateness[n-1])
	if lateness[0] < 0 {
		t.Errorf("one woke %s early", -lateness[0])
	}
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// count counts rows of a status.
func (r *rig) count(table, status string) int {
	r.t.Helper()
	return read[int](r, "RETURN array::len(SELECT VALUE id FROM type::table($table) WHERE status = $status)", map[string]any{"table": table, "status": status})
}

// TestFortyDays: a sleep of 40 days is one delayed job, outlives the node and the process, and ends at
// its time.
func TestFortyDays(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	code := func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		return "awake", s.Sleep(ctx, "long", 40*24*time.Hour)
	}
	p := r.newProcess("LONG", func(e *wf.Engine) { wf.Register(e, "LONG", code) })
	flow := wf.Register(r.newEngine(wf.Config{}), "LONG", code)
	url := r.Serve(r.world)
	stop := r.StartNode(url)
	i, err := flow.Create(t.Context(), 0)
	check(t, err)
	r.untilStatus(i, wf.Waiting)
	r.Poll("the first job is done", func() (bool, any) { return r.count("job", "success") == 1, nil })
	row := r.Instance(i.ID())
	due := read[[]time.Time](r, "SELECT VALUE run_at FROM job WHERE status = 'pending'", nil)
	if len(due) != 1 || !due[0].Equal(*row.WakeAt) || row.WakeAt.Sub(row.CreatedAt) < 40*24*time.Hour {
		t.Errorf("it wakes at %v, jobs are due at %v", row.WakeAt, due)
	}
	stop()
	p.kill()
	stop = r.StartNode(url)
	stop()
	// 40 days pass while nothing is up.
	r.Exec("UPDATE _00_wf_step SET wake_at = time::now() RETURN NONE; UPDATE _00_wf_instance SET wake_at = time::now() RETURN NONE; UPDATE job SET run_at = time::now() WHERE status = 'pending' RETURN NONE", nil)
	r.StartNode(url)
	r.untilStatus(i, wf.Complete)
	if jobs := read[[]string](r, "SELECT VALUE status FROM job", nil); len(jobs) != 2 || r.Instance(i.ID()).Runs != 2 {
		t.Errorf("it took the jobs %v and %d runs", jobs, r.Instance(i.ID()).Runs)
	}
}

// TestDeadlineWhileDown: timers end at once when their time has come while nothing was up; an event
// sent before the deadline still wins, one sent after it does not, and is kept.
func TestDeadlineWhileDown(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	engine := r.newEngine(wf.Config{})
	sleep := wf.Register(engine, "SLEEP", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		return "awake", s.Sleep(ctx, "s", time.Hour)
	})
	wait := wf.Register(engine, "WAIT", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
		got, err := wf.WaitForEvent[string](ctx, s, "w", "go", wf.Timeout(time.Hour))
		if err == nil {
			return got.Payload, nil
		}
		later, err := wf.WaitForEvent[string](ctx, s, "w", "go", wf.Timeout(300*time.Millisecond))
		if err != nil {
			return "no event", nil //nolint:nilerr // that is an outcome too
		}
		return "too late, then " + later.Payload, nil
	})
	url := r.Serve(engine.Handler(http.NotFoundHandler()))
	stop := r.StartNode(url)
	create := func(flow *wf.Workflow[int]) *wf.Instance {
		i, err := flow.Create(t.Context(), 0)
		check(t, err)
		return i
	}
	all := []*wf.Instance{create(sleep), create(wait), create(wait), create(wait)}
	for _, i := range all {
		r.untilStatus(i, wf.Waiting)
	}
	stop()
	// The hour is nearly over. (The rows are named first: an UPDATE that moves rows on in the index that
	// finds them finds them again, for ever.)
	r.Exec(`BEGIN;
		LET $steps = SELECT VALUE id FROM _00_wf_step WHERE status = 'waiting';
		LET $instances = SELECT VALUE id FROM _00_wf_instance WHERE status = 'waiting';
		UPDATE $steps SET wake_at = time::now() + 1s RETURN NONE;
		UPDATE $instances SET wake_at = time::now() + 1s RETURN NONE;
		UPDATE (SELECT VALUE job FROM $instances) SET run_at = time::now() + 1s RETURN NONE;
		COMMIT;`, nil)
	check(t, all[1].SendEvent(t.Context(), "go", "in time"))
	r.Poll("the deadlines have passed", func() (bool, any) {
		return read[bool](r, "RETURN array::len(SELECT id FROM _00_wf_step WHERE status = 'waiting' AND wake_at > time::now()) = 0", nil), nil
	})
	if err := all[2].SendEvent(t.Context(), "go", "late"); err != nil {
		t.Fatal(err)
	}
	r.StartNode(url)
	for n, want := range []string{"awake", "in time", "too late, then late", "no event"} {
		var out string
		check(t, r.untilStatus(all[n], wf.Complete).Output(&out))
		if out != want {
			t.Errorf("instance %d comes to %q, want %q", n, out, want)
		}
		r.Consistent(all[n].ID())
	}
}
