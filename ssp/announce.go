package ssp

import (
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// liveStatement listens for what a lane wants to know at once: rows that become pending, and
// requests to abort one that runs. Its condition can't fail on any row, for a condition that fails
// would fail the writer.
func liveStatement(table string) string {
	return "LIVE SELECT id, status, run_at, cancel_requested FROM `" + table + "` WHERE status = 'pending' OR cancel_requested != NONE"
}

type announcement struct {
	Status    string     `json:"status"`
	RunAt     *time.Time `json:"run_at"`
	Cancelled *time.Time `json:"cancel_requested"`
}

// onEvents takes what the feed announced. It is only a hint: what counts is what a claim finds.
func (l *lane) onEvents(events []surreal.Event) {
	now := l.node.clock.now()
	horizon := now.Add(l.node.cfg.SweepInterval + time.Second)
	for _, event := range events {
		key := surreal.FormatID(event.Record)
		if event.Action == "DELETE" {
			l.forget(key)
			continue
		}
		var row announcement
		if err := (surreal.Result{Raw: event.Result}).Decode(&row); err != nil {
			continue // the sweep will find the row
		}
		l.announced(event.Record, key, row, now, horizon)
	}
	l.poke()
}

func (l *lane) announced(id surreal.RecordID, key string, row announcement, now, horizon time.Time) {
	if row.Cancelled != nil && row.Status == string(outbox.Processing) {
		l.abort(key)
		return
	}
	if row.Status != string(outbox.Pending) {
		return
	}
	runAt := now
	if row.RunAt != nil {
		runAt = *row.RunAt
	}
	if runAt.After(horizon) {
		l.forget(key) // the sweep brings it back in time
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.put(id, key, runAt)
}
