package plan

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// What a workflow's operation does.
const (
	OpDo      = "do"      // a step that fails Fails attempts and works for WorkMS
	OpLate    = "late"    // a step whose first attempt is cut short by its timeout
	OpOnce    = "once"    // a step that must not be called twice
	OpQuery   = "query"   // a statement block that counts in the database
	OpPar     = "par"     // Width steps and a sleep side by side
	OpSleep   = "sleep"   // MS
	OpEvent   = "event"   // a wait for an event that is sent
	OpTimeout = "timeout" // a wait for an event that nobody sends, for MS
	OpDeny    = "deny"    // a step that fails for good, and the workflow with it
)

// An Op is one operation of a workflow. Its steps are called s0, s1 and so on, by the operation's place.
type Op struct {
	Op     string `json:"op"`
	V      int    `json:"v"`
	Fails  int    `json:"fails,omitempty"`
	WorkMS int    `json:"work_ms,omitempty"`
	Width  int    `json:"width,omitempty"`
	MS     int    `json:"ms,omitempty"`
}

// What is done to an instance from outside.
const (
	VerbPause     = "pause" // and resumed after Rest
	VerbTerminate = "terminate"
	VerbRestart   = "restart"
)

// An Instance of the scripted workflow.
type Instance struct {
	ID      string
	At      time.Duration
	Backend string // go or ts
	Ops     []Op
	// Events are when the events it waits for are sent, in order; type e0, e1, …, by the operation's place.
	Events []Event
	// Verb happens at VerbAt, where there is one.
	Verb         string
	VerbAt, Rest time.Duration
}

// An Event that is sent to an instance.
type Event struct {
	At      time.Duration
	Type    string
	Payload int
}

// Binding is the workflow's name in its backend.
func Binding(backend string) string {
	return map[string]string{"go": "GO_SCRIPT", "ts": "TS_SCRIPT"}[backend]
}

// Ends are the states that the instance may end in.
func (i Instance) Ends() []string {
	ends := []string{"complete"}
	if last := i.Ops[len(i.Ops)-1]; last.Op == OpDeny {
		ends = []string{"errored"}
	}
	if i.Verb == VerbTerminate {
		ends = append(ends, "terminated")
	}
	return ends
}

func drawInstances(r *rand.Rand, o Options) []Instance {
	list := make([]Instance, o.Workflows)
	for n := range list {
		i := Instance{ID: fmt.Sprintf("w%05d", n), At: between(r, 0, o.Length*8/10), Backend: "go"}
		if n%2 == 1 {
			i.Backend = "ts"
		}
		i.Ops = drawOps(r, i.Backend)
		for at, op := range i.Ops {
			if op.Op == OpEvent {
				i.Events = append(i.Events, Event{At: i.At + between(r, 0, 12*time.Second), Type: fmt.Sprintf("e%d", at), Payload: op.V})
			}
		}
		i.Verb = choose(r, []weighted[string]{{"", 86}, {VerbPause, 6}, {VerbTerminate, 4}, {VerbRestart, 4}})
		if i.Verb != "" {
			i.VerbAt, i.Rest = i.At+between(r, 500*time.Millisecond, 8*time.Second), between(r, time.Second, 6*time.Second)
		}
		list[n] = i
	}
	byTime(list, func(i Instance) time.Duration { return i.At })
	return list
}

func drawOps(r *rand.Rand, backend string) []Op {
	kinds := []weighted[string]{{OpDo, 40}, {OpLate, 4}, {OpOnce, 8}, {OpQuery, 14}, {OpPar, 12}, {OpSleep, 14}, {OpEvent, 10}, {OpTimeout, 4}}
	var ops []Op
	for range 3 + r.IntN(7) {
		op := Op{Op: choose(r, kinds), V: r.IntN(1 << 30)}
		if op.Op == OpQuery && backend == "ts" { // that SDK has no such step
			op.Op = OpDo
		}
		switch op.Op {
		case OpDo:
			op.WorkMS = choose(r, []weighted[int]{{0, 6}, {20, 2}, {200, 3}, {1500, 2}, {6000, 1}})
			op.Fails = choose(r, []weighted[int]{{0, 7}, {1, 2}, {3, 1}})
		case OpOnce:
			op.WorkMS = choose(r, []weighted[int]{{0, 1}, {100, 1}, {1000, 1}})
		case OpPar:
			op.Width, op.MS, op.WorkMS = 2+r.IntN(4), 100+r.IntN(2500), r.IntN(400)
		case OpSleep:
			op.MS = choose(r, []weighted[int]{{150, 1}, {900, 1}, {3000, 2}, {7000, 1}})
		case OpTimeout:
			op.MS = 300 + r.IntN(2000)
		}
		ops = append(ops, op)
	}
	if r.IntN(12) == 0 {
		ops = append(ops, Op{Op: OpDeny, V: r.IntN(1 << 30)})
	}
	return ops
}
