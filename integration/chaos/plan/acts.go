package plan

import (
	"math/rand/v2"
	"time"
)

// What an operator does. Each looks at a list of the admin API, and all but the last then do something to one thing of it.
const (
	ActCancelJob   = "job.cancel"
	ActRetryJob    = "job.retry"
	ActPause       = "instance.pause"
	ActResume      = "instance.resume"
	ActTerminate   = "instance.terminate"
	ActSend        = "instance.send-event"
	ActRestart     = "instance.restart"
	ActRetry       = "instance.retry"
	ActCancelRun   = "dag.cancel"
	ActRetryRun    = "dag.retry"
	ActTrigger     = "dag.trigger"
	ActPauseClock  = "schedule.pause"
	ActResumeClock = "schedule.resume"
	ActList        = "list"
)

// An Act is what an operator does at a time, by the admin API of a node.
type Act struct {
	At   time.Duration
	Node string
	Verb string
	// Pick chooses among what the list has.
	Pick int
}

// actEvery is the mean time between two acts.
const actEvery = 500 * time.Millisecond

func drawActs(r *rand.Rand, o Options) []Act {
	verbs := []weighted[string]{
		{ActCancelJob, 10},
		{ActRetryJob, 10},
		{ActPause, 9},
		{ActResume, 9},
		{ActTerminate, 4},
		{ActRestart, 5},
		{ActSend, 8},
		{ActRetry, 6},
		{ActCancelRun, 7},
		{ActRetryRun, 14},
		{ActTrigger, 5},
		{ActPauseClock, 3},
		{ActResumeClock, 6},
		{ActList, 9},
	}
	acts := make([]Act, o.Length/actEvery)
	for i := range acts {
		acts[i] = Act{At: between(r, 0, o.Length), Node: pick(r, Nodes()), Verb: choose(r, verbs), Pick: r.IntN(1 << 30)}
	}
	byTime(acts, func(a Act) time.Duration { return a.At })
	return acts
}
