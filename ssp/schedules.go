package ssp

import (
	"context"
	"errors"
	"slices"
	"time"

	"sp00ky.cloud/spky/ssp/schedule"
)

const (
	// lookEvery is the longest time between two looks at the schedules while something goes on or a tick
	// cannot be started: how late a run's end is noted.
	lookEvery = 5 * time.Second
	// idleEvery is the longest time otherwise: how late a node hears that a schedule was resumed.
	idleEvery = 10 * time.Second
	// lookPause is the shortest.
	lookPause = 20 * time.Millisecond
	// pruneEvery is the time between two looks for old runs.
	pruneEvery = 5 * time.Minute
	// attendEvery is the time between two words of a node that its configuration has its schedules.
	attendEvery = time.Minute
	// fireAtOnce is how many schedules' ticks a node starts at once.
	fireAtOnce = 32
	// deputyAfter is how late a tick is when it is not left any longer to the node whose turn it is.
	deputyAfter = 250 * time.Millisecond
)

// A scheduler starts what is due by the clock. It belongs to one goroutine, but for the ticks that are being started:
// each schedule's in one of its own, for a query of forEach may take its time and must not keep others waiting.
type scheduler struct {
	firing   map[string]bool
	fired    chan string // a schedule whose tick has been started, or could not be
	node     *Node
	store    schedule.Store
	specs    []schedule.Spec
	names    []string
	tables   []string // of the backends that the node has
	retired  []string // of those tables, and no node's
	attended time.Time
	deployed bool
	closed   time.Time // the last look for runs that are over
	going    bool      // … found some that went on
	begun    int64     // … when so many had been started
	pruned   time.Time // … and for old ones
}

// newScheduler takes the schedules of the backends that the node has: what others would start, nobody here
// would run.
func (n *Node) newScheduler() *scheduler {
	s := &scheduler{node: n, store: schedule.Store{DB: n.aux.Retrying()}, names: n.scheduled, firing: map[string]bool{}, fired: make(chan string, fireAtOnce)}
	words := map[string]string{}
	for _, l := range n.lanes {
		words[l.backend.Table] = string(l.cancelled)
		s.tables = append(s.tables, l.backend.Table)
	}
	for _, spec := range n.cfg.Schedules {
		if !slices.Contains(n.scheduled, spec.Name) {
			n.log.Warn("schedule: this node does not run its backend; it is left to others", "schedule", spec.Name, "backend", spec.Backend, "tables", spec.Tables())
			continue
		}
		s.specs = append(s.specs, spec.With(words))
	}
	return s
}

// runnable are the names of the configuration's schedules whose tables are all those of the node's backends.
func (n *Node) runnable() []string {
	names := []string{}
	for _, spec := range n.cfg.Schedules {
		foreign := func(table string) bool {
			return !slices.ContainsFunc(n.lanes, func(l *lane) bool { return l.backend.Table == table })
		}
		if !slices.ContainsFunc(spec.Tables(), foreign) {
			names = append(names, spec.Name)
		}
	}
	return names
}

// runSchedules starts what is due until ctx ends. Without schedules it only looks for those to retire.
func (n *Node) runSchedules(ctx context.Context) {
	s := n.newScheduler()
	defer s.settle()
	for ctx.Err() == nil {
		wait, err := s.round(ctx)
		if err != nil {
			n.noticeError(ctx, "schedules", n.log, err)
			wait = min(lookEvery, time.Second)
		}
		s.rest(ctx, wait)
	}
}

// rest waits until something may be due, or a tick has been started: its schedule may have another.
func (s *scheduler) rest(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case name := <-s.fired:
		delete(s.firing, name)
		sleep(ctx, lookPause)
	}
	for len(s.fired) > 0 {
		delete(s.firing, <-s.fired)
	}
}

// settle waits for the ticks that are being started.
func (s *scheduler) settle() {
	for len(s.firing) > 0 {
		delete(s.firing, <-s.fired)
	}
}

// round starts what is due now and answers with how long nothing will be.
func (s *scheduler) round(ctx context.Context) (time.Duration, error) {
	if !s.deployed {
		if err := s.store.Deploy(ctx, s.specs); err != nil {
			return 0, err
		}
		s.deployed = true
	}
	if err := s.attend(ctx); err != nil {
		return 0, err
	}
	if len(s.names)+len(s.retired) == 0 {
		return attendEvery, nil
	}
	rows, now, err := s.store.Look(ctx, s.names)
	if err != nil {
		return 0, err
	}
	wait := s.fireDue(ctx, rows, now)
	return max(wait, lookPause), s.tidy(ctx, rows)
}

// attend says now and then that the node has its schedules, and retires those that no node has any more. One of its
// own that was retired, because the node had been frozen, it writes anew.
func (s *scheduler) attend(ctx context.Context) error {
	if time.Since(s.attended) < attendEvery {
		return nil
	}
	retired, err := s.store.Attend(ctx, s.names, s.tables)
	if err != nil {
		return err
	}
	for _, name := range retired {
		if !slices.Contains(s.retired, name) {
			s.node.log.Info("schedule: no node's configuration has it any more; it is retired", "schedule", name)
			s.going = true // perhaps: its runs are to be closed all the same
		}
	}
	s.retired, s.attended = retired, time.Now()
	return nil
}

// fireDue starts what is due and answers with how long nothing will be.
func (s *scheduler) fireDue(ctx context.Context, rows []schedule.Row, now time.Time) time.Duration {
	wait := idleEvery
	if s.going {
		wait = lookEvery
	}
	for _, row := range rows {
		if row.RetiredAt != nil {
			s.deployed = false // this node has it
		}
		at, ok := s.turn(row)
		switch {
		case !ok || s.firing[row.Name]:
		case at.After(now):
			wait = min(wait, at.Sub(now))
		case len(s.firing) >= fireAtOnce: // one that ends says so
		default:
			s.firing[row.Name] = true
			go func() { // settle waits for it
				defer func() { s.fired <- row.Name }()
				if !s.fire(ctx, row, now) {
					sleep(ctx, lookEvery)
				}
			}()
		}
	}
	return wait
}

// turn is when this node starts the schedule's next tick; false where it has none.
func (s *scheduler) turn(row schedule.Row) (time.Time, bool) {
	if !row.Enabled || row.PausedAt != nil || row.NextAt == nil {
		return time.Time{}, false
	}
	if s.node.mine(row.Name) {
		return *row.NextAt, true
	}
	return row.NextAt.Add(deputyAfter), true
}

// mine says whether this node is the first of all for something.
func (n *Node) mine(what string) bool {
	live := n.peers.all()
	return len(live) < 2 || first(live, what) == n.cfg.ID
}

// fire starts one tick, by this node or another; false where that can't be done at present.
func (s *scheduler) fire(ctx context.Context, row schedule.Row, now time.Time) bool {
	log := s.node.log.With("schedule", row.Name, "tick", *row.NextAt)
	fired, err := s.store.Fire(ctx, row, now)
	if err != nil {
		s.node.metrics.unstarted.WithLabelValues(row.Name).Inc()
		news, noted := s.store.Trouble(ctx, row.Name, err)
		if noted != nil {
			s.node.noticeError(ctx, "schedules", log, errors.Join(err, noted))
		}
		if news && ctx.Err() == nil {
			log.Warn("schedule: a tick that is due can't be started; it is tried again", "reason", masked{err, s.node.maskOf(row)})
		}
		return false
	}
	if fired {
		late := now.Sub(*row.NextAt)
		s.node.metrics.ticks.WithLabelValues(row.Name).Inc()
		s.node.metrics.tickLateness.Observe(late.Seconds())
		log.Debug("schedule fired", "late", late)
		if row.Spec.DAG != nil {
			s.node.dags.look()
		}
	}
	return true
}

// tidy notes which runs are over, where any are under way, and forgets old ones; one node of all does.
func (s *scheduler) tidy(ctx context.Context, rows []schedule.Row) error {
	if time.Since(s.closed) < lookEvery || !s.node.mine("schedules") {
		return nil
	}
	begun := int64(0)
	for _, row := range rows {
		begun += row.Fires + row.Triggers
	}
	if first := s.closed.IsZero(); first || s.going || begun != s.begun {
		going, err := s.store.Close(ctx, slices.Concat(s.names, s.retired))
		if err != nil {
			return err
		}
		s.going, s.begun = going, begun
	}
	s.closed = time.Now()
	if time.Since(s.pruned) < pruneEvery {
		return nil
	}
	s.pruned = time.Now()
	if err := s.store.Prune(ctx, slices.Concat(s.names, s.retired)); err != nil || len(s.retired) == 0 {
		return err
	}
	return s.store.Forget(ctx, s.retired)
}
