package admin

import (
	"context"
	"errors"
	"testing"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

func (r *rig) cluster() *Cluster {
	return NewCluster(ClusterConfig{DB: r.db, Tables: []string{"job", "later"}})
}

// lives counts the subscriptions on a table.
func (r *rig) lives(table string) int {
	r.t.Helper()
	info, err := surreal.First[struct {
		Lives map[string]any `json:"lives"`
	}](r.ctx, r.db, "INFO FOR TABLE "+table, nil)
	r.check(err)
	return len(info.Lives)
}

// heard runs a watch, and answers with what it tells and what ends it.
func (r *rig) heard(watch func(context.Context, func(TableChange) error) error) (<-chan TableChange, func() error) {
	ctx, stop := context.WithCancel(r.ctx)
	told, ended := make(chan TableChange, 10_000), make(chan error, 1)
	go func() { ended <- watch(ctx, func(c TableChange) error { told <- c; return nil }) }()
	end := func() error { stop(); err := <-ended; ended <- err; return err }
	r.t.Cleanup(func() { _ = end() })
	return told, end
}

func (r *rig) until(told <-chan TableChange, key string) {
	r.t.Helper()
	for {
		select {
		case c := <-told:
			if c.Key == key {
				return
			}
		case <-r.ctx.Done():
			r.t.Fatalf("nothing is told of %q", key)
		}
	}
}

// TestChangesOfTables tells of rows of every table that may be watched, and of one that does not exist yet.
func TestChangesOfTables(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.cluster()
	watch := func(table string) (<-chan TableChange, func() error) {
		return r.heard(func(ctx context.Context, tell func(TableChange) error) error { return c.Changes(ctx, table, tell) })
	}
	for _, table := range watchable() {
		told, end := watch(table)
		r.until(told, "") // it listens
		r.exec("LET $gone = DELETE ONLY type::record($table, 'none')", map[string]any{"table": table})
		if err := end(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: it ended with %v", table, err)
		}
		if n := r.lives(table); n != 0 {
			t.Errorf("%s: %d subscriptions are left", table, n)
		}
	}
	told, _ := watch("job")
	r.until(told, "")
	r.exec("CREATE job:one SET path = '/work', payload = {} RETURN NONE", nil)
	r.until(told, "one")
	steps, _ := watch(TableStepRuns)
	r.until(steps, "")
	r.exec(`CREATE _00_step_run:['a run', 3] SET run = 'a run', position = 3, name = 'a', backend = 'api', table = 'job', route = '/work', payload = {}, retries = 1,
		strategy = 'linear', cancelled = 'cancelled', depends_on = [], upstream = [], status = 'ready' RETURN NONE`, nil)
	r.until(steps, "a run")
	r.exec("REMOVE TABLE _00_step_run", nil)
	r.until(steps, "") // it is not listened to any more
	if _, end := watch("user"); !errors.As(end(), new(*InputError)) {
		t.Error("any table may be watched")
	}
}

// TestATableThatChangesOftenIsNotListenedTo writes faster than a table is listened to.
func TestATableThatChangesOftenIsNotListenedTo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	w := tableWatch{db: r.db, table: "job", rest: time.Hour}
	told, _ := r.heard(func(ctx context.Context, tell func(TableChange) error) error {
		w.tell = tell
		if err := w.listen(ctx); !errors.Is(err, errBusy) {
			return err
		}
		return w.pause(ctx)
	})
	r.until(told, "")
	if n := r.lives("job"); n != 1 {
		t.Fatalf("%d subscriptions", n)
	}
	r.exec("FOR $n IN 0..200 { CREATE job SET path = '/work', payload = {} RETURN NONE }", nil)
	r.until(told, "") // by and by, without a key
	for range 3 {
		r.until(told, "")
	}
	if n := r.lives("job"); n != 0 {
		t.Errorf("%d subscriptions on a table that changes often", n)
	}

	w = tableWatch{db: r.db, table: "job", rest: time.Millisecond}
	told, _ = r.heard(func(ctx context.Context, tell func(TableChange) error) error {
		w.tell = tell
		if err := w.pause(ctx); err != nil {
			return err
		}
		return w.listen(ctx)
	})
	r.until(told, "") // while it rests
	r.until(told, "") // it listens again
	r.exec("CREATE job:one SET path = '/work', payload = {} RETURN NONE", nil)
	r.until(told, "one")
}

// TestAWatchOutlivesItsConnection takes the database away from under one, and gives it back.
func TestAWatchOutlivesItsConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	proxy, err := faultproxy.Listen(r.cfg.Endpoint)
	r.check(err)
	cfg := r.cfg
	cfg.Endpoint = "ws://" + proxy.Addr()
	db, stop, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	t.Cleanup(func() { r.check(stop()); r.check(proxy.Close()) })
	c := NewCluster(ClusterConfig{DB: db})
	told, end := r.heard(func(ctx context.Context, tell func(TableChange) error) error { return c.Changes(ctx, TableAudit, tell) })
	r.until(told, "")
	proxy.Cut()
	r.exec("CREATE _00_audit:['unheard', 'a'] SET at = time::now(), actor = 'ann', via = 'cli', action = 'job.cancel', outcome = 'done' RETURN NONE", nil)
	r.until(told, "") // something may have happened
	proxy.Restore()
	again := time.NewTicker(20 * time.Millisecond) // it may not listen yet
	defer again.Stop()
	for heard := false; !heard; {
		r.exec("UPDATE _00_audit:['unheard', 'a'] SET at = time::now() RETURN NONE", nil)
		select {
		case c := <-told:
			heard = c.Key == "unheard"
		case <-again.C:
		case <-r.ctx.Done():
			t.Fatal("it has not come back")
		}
	}
	if err := end(); !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
}
