package check

import (
	"time"

	"sp00ky.cloud/spky/surreal"
)

// slack is by how much the commit of a change may follow its entry in the history: the database may be frozen in between.
const slack = 10 * time.Second

// during says whether a row was in a state at any time from one moment to another, as far as can be told.
func during[S any](log []change[S], from, to time.Time, is func(*S) bool) bool {
	for n, e := range log {
		if e.After == nil || !is(e.After) || e.At.After(to) {
			continue
		}
		if n == len(log)-1 || !log[n+1].At.Add(slack).Before(from) {
			return true
		}
	}
	return false
}

// last is the state of a row at a moment, nil where there was no row.
func last[S any](log []change[S], at time.Time) *S {
	var state *S
	for _, e := range log {
		if e.At.After(at) {
			break
		}
		state = e.After
	}
	return state
}

// statusDuring says whether what a tick has started was in a state at some time.
func (c *checker) statusDuring(target string, from, to time.Time, is func(status string) bool) bool {
	id, err := surreal.ParseID(target)
	if err != nil {
		return false
	}
	key, _ := id.ID.(string)
	switch id.Table {
	case "_00_wf_instance":
		return during(c.instanceLog[key], from, to, func(s *instanceState) bool { return is(s.Status) })
	case "_00_workflow_run":
		return during(c.runLog[key], from, to, func(s *runState) bool { return is(s.Status) })
	}
	return during(c.jobLog[target], from, to, func(s *jobState) bool { return is(s.Status) })
}

// goneBy says whether it had been deleted.
func (c *checker) goneBy(target string, at time.Time) bool {
	id, err := surreal.ParseID(target)
	if err != nil {
		return false
	}
	key, _ := id.ID.(string)
	gone := c.jobs[target].Gone
	switch id.Table {
	case "_00_wf_instance":
		gone = c.instances[key].Gone
	case "_00_workflow_run":
		gone = c.runs[key].Gone
	}
	return gone != nil && gone.Before(at)
}

// endOf is what a schedule calls the state in which something ended, "" where that lives.
func endOf(status string) string {
	switch status {
	case success, "complete":
		return success
	case failed, "errored":
		return failed
	case "cancelled", "terminated", "killed":
		return "killed"
	}
	return ""
}
