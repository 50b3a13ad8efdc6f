package ssp

import (
	"time"

	"sp00ky.cloud/spky/surreal"
)

// liveStatement listens for rows that become pending. Its condition can't fail on any row, for a
// condition that fails would fail the writer.
//
// Rows that wait in a partition's queue are not news: whoever put them there wrote them.
func liveStatement(table string, partitioned bool) string {
	statement := "LIVE SELECT id, run_at FROM `" + table + "` WHERE status = 'pending'"
	if partitioned {
		statement += " AND partition_queue = NONE"
	}
	return statement
}

type announcement struct {
	RunAt *time.Time `json:"run_at"`
}

// onEvents takes what the feed announced. It is only a hint: what counts is what a claim finds.
func (l *lane) onEvents(events []surreal.Event) {
	l.pace.count(len(events), 0)
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
