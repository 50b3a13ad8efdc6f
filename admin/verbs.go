package admin

import "slices"

// Verbs names what can be done to the instance as it is, in the words of the operations: what they refuse
// is not among them.
func (s Summary) Verbs() []string {
	verbs := slices.Clone(possible(s.Status))
	if s.PauseRequested != nil { // Resume takes it back
		if at := slices.Index(verbs, verbPause); at >= 0 {
			verbs[at] = verbResume
		}
	}
	if s.Stalled() {
		verbs = append([]string{verbRetry}, verbs...)
	}
	return verbs
}

// Verbs names what can be done to the job as it is.
func (s JobSummary) Verbs() []string { return possibleJob(s.Status) }

// Verbs names what can be done to the schedule as it is.
func (s Schedule) Verbs() []string { return possibleForSchedule(s.State, "") }
