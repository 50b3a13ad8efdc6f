package check

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/load"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// done counts how often operators did something to something.
func (c *checker) done(key, action string) int {
	n := 0
	for _, a := range c.audits[key] {
		if a.Action == action && a.Outcome == "done" {
			n++
		}
	}
	return n
}

// operators checks that what operators were told is what was: an acknowledged act stands in the audit, within the time of the call and
// for no other call; what the audit calls done was done, in the same transaction; and a list shows states that were.
func (c *checker) operators() {
	asked := map[string]time.Time{}
	used := map[string]map[int]bool{}
	for _, e := range c.Journal {
		at := time.Unix(0, e.At)
		switch {
		case e.What == journal.Asked:
			asked[e.Nonce] = at
		case e.What == journal.Told && e.Status == http.StatusInternalServerError:
			c.find("answer", about(e), "%s: %s", e.Step, e.Text)
		case e.What == journal.Told && e.Status == http.StatusOK && e.Step == plan.ActList:
			c.listed(e, asked[e.Nonce], at)
		case e.What == journal.Told && e.Status == http.StatusOK:
			c.acknowledged(e, asked[e.Nonce], at, used)
		}
	}
	for _, a := range c.Audit {
		if a.Outcome == "done" && !took(a) {
			c.find("operator", a.Key, "at %s %s of it was noted as done, and it was %+v", clock(&a.At), a.Action, a.Found)
		}
	}
}

// about is what an operator's call was about.
func about(e journal.Entry) string { return cmp.Or(e.Job, e.Instance, e.Run) }

func (c *checker) acknowledged(e journal.Entry, from, to time.Time, used map[string]map[int]bool) {
	key := about(e)
	if used[key] == nil {
		used[key] = map[int]bool{}
	}
	for n, a := range c.audits[key] {
		if !used[key][n] && a.Action == e.Step && a.Outcome == "done" && !a.At.Before(from) && !a.At.After(to) {
			used[key][n] = true
			return
		}
	}
	c.find("operator", key, "at %s an operator was told that %s of it is done, and nothing of the kind happened since %s", clock(&to), e.Step, clock(&from))
}

// made is what an act makes of what it is done to, in its own transaction. Later states are for the rules of that.
func made() map[string]func(foundState) bool {
	return map[string]func(foundState) bool{
		plan.ActCancelJob:   func(f foundState) bool { return f.Status == "cancelled" || f.Status == processing && f.Cancel },
		plan.ActRetryJob:    func(f foundState) bool { return f.Status == pending },
		plan.ActPause:       func(f foundState) bool { return f.Status == "paused" || f.Pause },
		plan.ActResume:      func(f foundState) bool { return f.Status != "paused" && !f.Pause },
		plan.ActTerminate:   func(f foundState) bool { return f.Status == "terminated" },
		plan.ActRestart:     func(f foundState) bool { return f.Status == "queued" },
		plan.ActRetry:       func(f foundState) bool { return !over(f.Status) },
		plan.ActCancelRun:   func(f foundState) bool { return f.Stopping || f.Status == killed },
		plan.ActRetryRun:    func(f foundState) bool { return f.Status == "running" },
		plan.ActPauseClock:  func(f foundState) bool { return f.Paused },
		plan.ActResumeClock: func(f foundState) bool { return !f.Paused },
	}
}

// took says whether something was as an act makes it.
func took(a auditEntry) bool {
	check, ok := made()[a.Action]
	if !ok { // what leaves no state behind
		return true
	}
	return a.Found != nil && check(*a.Found)
}

// listed checks that what a list showed was so while it was asked for, and stood in it once.
func (c *checker) listed(e journal.Entry, from, to time.Time) {
	var all []load.Listed
	if err := json.Unmarshal([]byte(cmp.Or(e.Text, "null")), &all); err != nil {
		c.find("list", "", "%s: %v", e, err)
	}
	seen := map[string]bool{}
	for _, row := range all {
		if seen[row.ID] || !c.showed(row, from, to) {
			c.find("list", row.ID, "a list that was asked for at %s showed it as %s; before it: %v", clock(&from), row.Status, seen[row.ID])
		}
		seen[row.ID] = true
	}
}

func (c *checker) showed(row load.Listed, from, to time.Time) bool {
	switch {
	case c.jobLog[row.ID] != nil:
		return during(c.jobLog[row.ID], from, to, func(s *jobState) bool { return s.Status == row.Status })
	case c.instanceLog[row.ID] != nil:
		return during(c.instanceLog[row.ID], from, to, func(s *instanceState) bool { return s.Status == row.Status })
	case c.runLog[row.ID] != nil:
		return during(c.runLog[row.ID], from, to, func(s *runState) bool { return s.Status == row.Status })
	}
	return c.scheduleLog[row.ID] != nil
}
