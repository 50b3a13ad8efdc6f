package wf

import (
	"context"
	"time"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// actions are the random things that are done to a twin.
func (w *twin) actions() map[string]func(*rapid.T) {
	last := ""
	named := func(name string, fn func(*rapid.T)) func(*rapid.T) {
		return func(t *rapid.T) {
			w.fatal, last = t.Fatalf, name
			fn(t)
		}
	}
	verb := func(name string, mem func(string) memory.Verdict) func(*rapid.T) {
		return named(name, func(*rapid.T) { w.verb(name, nil, mem(w.id)) })
	}
	acts := map[string]func(*rapid.T){
		"acquire": named("acquire", func(t *rapid.T) { w.acquire(rapid.IntRange(-1, len(w.jobs)).Draw(t, "job")) }),
		"take":    named("take", func(*rapid.T) { w.claim(); w.acquire(-1) }),
		"begin": named("begin", func(t *rapid.T) {
			write := w.drawWrite(t, protocol.StepRunning, protocol.StepRetrying, protocol.StepWaiting)
			w.ack("begin", func(s protocol.Store) (protocol.Ack, error) { return s.Begin(w.ctx, write) })
		}),
		"commit": named("commit", func(t *rapid.T) {
			write := w.drawWrite(t, protocol.StepComplete, protocol.StepErrored)
			w.ack("commit", func(s protocol.Store) (protocol.Ack, error) { return s.Commit(w.ctx, write) })
		}),
		"renew": named("renew", func(t *rapid.T) {
			fence := w.drawFence(t)
			w.ack("renew", func(s protocol.Store) (protocol.Ack, error) { return s.Renew(w.ctx, w.id, fence) })
		}),
		"suspend": named("suspend", func(t *rapid.T) {
			fence, waits := w.drawFence(t), w.drawWaits(t)
			w.ack("suspend", func(s protocol.Store) (protocol.Ack, error) { return s.Suspend(w.ctx, w.id, fence, waits) })
		}),
		"wait": named("wait", func(t *rapid.T) { // what chance alone seldom comes to
			w.acquire(-1)
			if len(w.fences) == 0 {
				return
			}
			waits := []protocol.Wait{{Kind: "event", Name: "x", Types: []string{"a"}, WakeAt: w.mem.Now().Add(10 * time.Minute)}}
			w.ack("suspend", func(s protocol.Store) (protocol.Ack, error) {
				return s.Suspend(w.ctx, w.id, w.fences[len(w.fences)-1], waits)
			})
		}),
		"finish": named("finish", func(t *rapid.T) {
			f := w.drawFinish(t)
			w.ack("finish", func(s protocol.Store) (protocol.Ack, error) { return s.Finish(w.ctx, f) })
		}),
		"warn": named("warn", func(t *rapid.T) {
			fence, stalled := w.drawFence(t), rapid.Bool().Draw(t, "stalled")
			w.ack("warn", func(s protocol.Store) (protocol.Ack, error) {
				return s.Warn(w.ctx, w.id, fence, map[string]any{"code": "test"}, stalled)
			})
		}),
		"event": named("event", func(t *rapid.T) {
			typ := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "type")
			w.verb("send_event", map[string]any{"type": typ, "payload": map[string]any{"k": "v"}}, w.mem.SendEvent(w.id, typ, []byte(`{"k":"v"}`)))
		}),
		"claim":  named("claim", func(*rapid.T) { w.claim() }),
		"elapse": named("elapse", func(t *rapid.T) { w.elapse(time.Duration(rapid.IntRange(1, 5).Draw(t, "minutes")) * time.Minute) }),
		"pause":  verb("pause", w.mem.Pause),
		"resume": verb("resume", w.mem.Resume),
		"retry":  verb("retry", w.mem.Retry),
		"restart": named("restart", func(t *rapid.T) {
			w.seldom(t, "restart", func(id string) memory.Verdict { return w.mem.Restart(id, nil) })
		}),
		"restart from": named("restart from a step", func(t *rapid.T) { w.restartFrom(w.drawFrom(t)) }),
		"end":          named("terminate", func(t *rapid.T) { w.seldom(t, "terminate", w.mem.Terminate) }),
	}
	acts[""] = func(t *rapid.T) { w.fatal = t.Fatalf; w.compare(last) }
	return acts
}

// seldom does what would end every sequence early.
func (w *twin) seldom(t *rapid.T, name string, mem func(string) memory.Verdict) {
	if rapid.IntRange(0, 3).Draw(t, name) == 0 {
		w.verb(name, nil, mem(w.id))
	}
}

// drawFrom is mostly a step that may be there.
func (w *twin) drawFrom(t *rapid.T) protocol.From {
	return protocol.From{
		Name: rapid.SampledFrom([]string{"x", "x", "y", "y", "none"}).Draw(t, "from"), Count: rapid.IntRange(0, 2).Draw(t, "count"),
		Type: rapid.SampledFrom([]string{"", "", protocol.KindDo, protocol.KindEvent, protocol.KindSleep}).Draw(t, "type"),
	}
}

// drawFence is mostly that of the last run, and else that of an earlier one.
func (w *twin) drawFence(t *rapid.T) int {
	if len(w.fences) == 0 {
		return 0
	}
	if rapid.IntRange(0, 5).Draw(t, "stale") == 0 {
		return rapid.SampledFrom(w.fences).Draw(t, "fence")
	}
	return w.fences[len(w.fences)-1]
}

func (w *twin) drawWrite(t *rapid.T, statuses ...string) protocol.StepWrite {
	now := w.mem.Now()
	moment := func(label string) *time.Time {
		if rapid.Bool().Draw(t, label+" set") {
			return nil
		}
		at := now.Add(time.Duration(rapid.IntRange(-2, 10).Draw(t, label)) * time.Minute)
		return &at
	}
	s := protocol.Step{
		Seq: rapid.IntRange(1, 5).Draw(t, "seq"), Kind: rapid.SampledFrom([]string{protocol.KindDo, protocol.KindEvent}).Draw(t, "kind"),
		Name: rapid.SampledFrom([]string{"x", "y"}).Draw(t, "name"), Occurrence: rapid.IntRange(1, 2).Draw(t, "occurrence"),
		Status: rapid.SampledFrom(statuses).Draw(t, "status"), RetryAt: moment("retry"), WakeAt: moment("wake"), StartedAt: now,
		Attempts: []protocol.Attempt{{StartedAt: now, EndedAt: moment("ended")}},
	}
	if rapid.Bool().Draw(t, "config") {
		s.Config = &protocol.Config{Retries: protocol.Retries{Limit: 5, Delay: 100, Backoff: "linear"}, Timeout: 1000}
	}
	switch s.Status {
	case protocol.StepComplete:
		s.Output = map[string]any{"list": []any{uint64(1), "two", nil, true}}
	case protocol.StepErrored:
		s.Error = &protocol.Error{Name: "Error", Message: "no"}
	}
	held, _ := w.mem.Instance(w.id)
	write := protocol.StepWrite{Instance: w.id, Incarnation: held.Incarnation, Fence: w.drawFence(t), Step: s, Done: s.Done()}
	if write.Done {
		write.FinishedAt = &now
	}
	if write.Done {
		write.Event = rapid.IntRange(0, 3).Draw(t, "event")
		if write.Event > len(w.mem.Events(w.id)) {
			write.Event = 0
		}
	}
	return write
}

// earlier is the database under the memory's clock, which is ahead of it: times on their way there are
// moved back.
type earlier struct {
	*database
	by time.Duration
}

func (e earlier) moved(t *time.Time) *time.Time {
	if t == nil {
		return nil
	}
	at := t.Add(-e.by)
	return &at
}

func (e earlier) write(w protocol.StepWrite) protocol.StepWrite {
	w.FinishedAt = e.moved(w.FinishedAt)
	w.Step.RetryAt, w.Step.WakeAt, w.Step.StartedAt = e.moved(w.Step.RetryAt), e.moved(w.Step.WakeAt), w.Step.StartedAt.Add(-e.by)
	attempts := w.Step.Attempts
	w.Step.Attempts = nil
	for _, a := range attempts {
		a.StartedAt, a.EndedAt = a.StartedAt.Add(-e.by), e.moved(a.EndedAt)
		w.Step.Attempts = append(w.Step.Attempts, a)
	}
	return w
}

func (e earlier) Begin(ctx context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	return e.database.Begin(ctx, e.write(w))
}

func (e earlier) Commit(ctx context.Context, w protocol.StepWrite) (protocol.Ack, error) {
	return e.database.Commit(ctx, e.write(w))
}

func (e earlier) Suspend(ctx context.Context, id string, fence int, waits []protocol.Wait) (protocol.Ack, error) {
	moved := make([]protocol.Wait, len(waits))
	for i, w := range waits {
		moved[i] = w
		moved[i].WakeAt = w.WakeAt.Add(-e.by)
	}
	return e.database.Suspend(ctx, id, fence, moved)
}

func (w *twin) drawWaits(t *rapid.T) []protocol.Wait {
	var waits []protocol.Wait
	for i := range rapid.IntRange(0, 2).Draw(t, "waits") {
		wait := protocol.Wait{Kind: "sleep", Name: []string{"x", "y"}[i], WakeAt: w.mem.Now().Add(time.Duration(rapid.IntRange(-1, 10).Draw(t, "wake")) * time.Minute)}
		if typ := rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "type"); typ != "" {
			wait.Kind, wait.Types = "event", []string{typ}
		}
		waits = append(waits, wait)
	}
	return waits
}

func (w *twin) drawFinish(t *rapid.T) protocol.Finish {
	f := protocol.Finish{Instance: w.id, Fence: w.drawFence(t), Status: "complete", Output: map[string]any{"n": uint64(2)}}
	if rapid.Bool().Draw(t, "errored") {
		f.Status, f.Output, f.Error = "errored", nil, &protocol.Error{Name: "Error", Message: "no"}
	}
	if rapid.IntRange(0, 3).Draw(t, "warns") == 0 {
		f.Warning = map[string]any{"code": "test"}
	}
	return f
}
