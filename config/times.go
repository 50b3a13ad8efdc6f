package config

import "time"

// longestAttempt is the most that an attempt of a job may take, whoever says so.
const longestAttempt = time.Hour

// A deadline ends a run; 0 is never. It is from a key.
type deadline struct {
	after time.Duration
	from  string
}

// deadlineOf is what ends the runs of a schedule, or of a DAG, whose key is "".
func (l *loader) deadlineOf(key string, own span) deadline {
	if key != "" && own > 0 {
		return deadline{time.Duration(own), key + ".deadline"}
	}
	return deadline{time.Duration(l.raw.Retention.RunDeadline), "retention.runDeadline"}
}

// checkTimes checks the timeout of the jobs of a schedule or a step against what their backend takes, and against the
// deadline of the run.
func (l *loader) checkTimes(at place, backend string, timeout span, end deadline) {
	key := at.key + ".timeout"
	b, ok := l.cfg.Backend(backend)
	if l.d.has(key) {
		at = l.d.at(key)
	}
	takes := time.Duration(timeout)
	switch {
	case !ok || l.faulty(key):
		return
	case takes > longestAttempt:
		l.d.fault(at, "found "+compact(takes)+", allowed: at most "+compact(longestAttempt)+" for an attempt", "shorten it; what takes longer is a workflow in code, or answers early and goes on by itself")
		return
	case takes > 0 && !b.TimeoutOverridable:
		l.d.warn(at, "found a timeout that has no effect on "+backend+", whose own is "+compact(b.Timeout), "give apps."+backend+" `deploy: {timeoutOverridable: true}`, or remove it")
		fallthrough
	case takes == 0:
		takes = b.Timeout
	}
	if end.after == 0 || takes <= end.after {
		return
	}
	l.d.warn(at, "found an attempt of up to "+compact(takes)+" in a run that "+end.from+" ends after "+compact(end.after), "lengthen the deadline, or shorten the timeout")
}

// checkOfJobs tells of keys that say how a job is tried, beside a workflow, which has rules of its own.
func (l *loader) checkOfJobs(key string) {
	for _, name := range []string{".timeout", ".retry"} {
		if l.d.has(key + name) {
			l.d.warn(l.d.at(key+name), "found the key beside a workflow, where it has no effect: the workflow's code says how its steps are tried", "remove it")
		}
	}
}
