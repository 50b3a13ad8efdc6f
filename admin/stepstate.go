package admin

import (
	"cmp"

	"sp00ky.cloud/spky/wf"
)

// CutOff is the state of a step that was under way when its instance ended.
const CutOff = "cut off"

// State is the step's Status, or CutOff where of, its instance's status, says that nothing goes on with it any more. The
// row of such a step stays as it was: running, retrying or waiting.
func (s Step) State(of wf.Status) string {
	if Terminal(of) && !s.Done() {
		return CutOff
	}
	return s.Status
}

// State is how an attempt is, or what it came to: done, failed, running, or CutOff where of, its instance's status, says that it
// cannot run any more.
func (a Attempt) State(of wf.Status) string {
	switch {
	case a.Error != nil:
		return "failed"
	case a.EndedAt != nil:
		return "done"
	case Terminal(of):
		return CutOff
	}
	return "running"
}

// Ending is what an instance's end was, for a sentence such as "when the instance was terminated".
func Ending(of wf.Status) string {
	return cmp.Or(map[wf.Status]string{wf.Terminated: "was terminated", wf.Errored: "errored", wf.Complete: "completed"}[of], "ended")
}
