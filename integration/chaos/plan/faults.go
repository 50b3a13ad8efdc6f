package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Database is the name of the one database.
const Database = "db"

// Nodes are the sync processor's processes.
func Nodes() []string { return []string{"n1", "n2", "n3"} }

// Backends are the backends; each is served by two processes, which shop and part share.
func Backends() []string { return []string{"shop", "part", "go", "ts"} }

// Servers are the backends' processes.
func Servers() []string { return []string{"shop-a", "shop-b", "go-a", "go-b", "ts-a", "ts-b"} }

// Server is the process that a node sends a backend's requests to: each process serves one or two nodes.
func Server(node, backend string) string {
	side := strings.Index("123", node[1:]) % 2
	if backend == "part" { // served by the same processes
		backend = "shop"
	}
	if backend == "ts" { // so that not every process has the same neighbours
		side = 1 - side
	}
	return backend + "-" + "ab"[side:side+1]
}

// Links are the connections that can be broken, as client>server.
func Links() []string {
	var links []string
	for _, n := range Nodes() {
		links = append(links, n+">"+Database)
		for _, b := range Backends() {
			if b != "part" {
				links = append(links, n+">"+Server(n, b))
			}
		}
	}
	for _, s := range Servers() {
		if !strings.HasPrefix(s, "shop") { // which needs no database
			links = append(links, s+">"+Database)
		}
	}
	return links
}

// Targets are everything that a fault can happen to.
func Targets() []string {
	return slices.Concat([]string{Database}, Nodes(), Servers(), Links())
}

// A Kind of fault.
type Kind string

// The kinds. What a fault does lasts For, where that makes sense.
const (
	Kill      Kind = "kill"      // SIGKILL; started again after For
	Freeze    Kind = "freeze"    // SIGSTOP, SIGCONT after For
	Terminate Kind = "terminate" // SIGTERM; started again For after its end
	Shift     Kind = "shift"     // a node is killed and started again with a clock that is Shift off, and steps by Step while it runs

	Reset     Kind = "reset"     // every connection is reset
	Fin       Kind = "fin"       // every connection is closed in order
	HalfClose Kind = "halfclose" // the client sees an end, the server none
	Blackhole Kind = "blackhole" // bytes vanish
	Cut       Kind = "cut"       // connections are reset and refused
	Delay     Kind = "delay"     // bytes are late by Amount ms
	Dribble   Kind = "dribble"   // Amount bytes a second pass

	Full      Kind = "full"      // a backend answers 429 or 503, with Retry-After or without
	Broken    Kind = "broken"    // a backend answers 500 and a page of HTML
	Slow      Kind = "slow"      // a backend takes up to Amount ms longer
	Truncated Kind = "truncated" // a backend does its work and breaks off in the middle of its answer
	Garbage   Kind = "garbage"   // a backend does its work and answers what is no JSON
)

// A Fault happens to one process or one link.
type Fault struct {
	At     time.Duration
	Kind   Kind
	Target string
	For    time.Duration
	Amount int
	// Shift and Step are seconds that a node's clock is off, and steps after two seconds.
	Shift, Step int
}

func (f Fault) String() string {
	text := fmt.Sprintf("%8.3fs %-9s %-10s", f.At.Seconds(), f.Kind, f.Target)
	if f.For > 0 {
		text += " for " + f.For.String()
	}
	if f.Amount > 0 {
		text += fmt.Sprintf(" amount %d", f.Amount)
	}
	if f.Kind == Shift {
		text += fmt.Sprintf(" by %+ds, then %+ds", f.Shift, f.Step)
	}
	return text
}

// drawFaults draws faults until shortly before the end. A target has one fault at a time, and a short rest after it.
func drawFaults(r *rand.Rand, o Options) []Fault {
	kinds := []weighted[func(*rand.Rand) Fault]{
		{nodeFault, 24}, {serverFault, 26}, {databaseFault, 7}, {linkFault, 43},
	}
	busy := map[string]time.Duration{}
	var faults []Fault
	for at := 2 * time.Second; ; {
		at += between(r, o.Gap/5, 2*o.Gap-o.Gap/5)
		if at > o.Length-time.Second {
			return faults
		}
		f := choose(r, kinds)(r)
		if f.Kind == Shift && !o.Clock {
			f.Kind, f.Shift, f.Step = Kill, 0, 0
		}
		f.At = at
		if busy[f.Target] > at {
			continue
		}
		busy[f.Target] = at + f.For + 1500*time.Millisecond
		faults = append(faults, f)
	}
}

func pick(r *rand.Rand, from []string) string { return from[r.IntN(len(from))] }

func nodeFault(r *rand.Rand) Fault {
	f := Fault{Target: pick(r, Nodes())}
	f.Kind = choose(r, []weighted[Kind]{{Kill, 32}, {Freeze, 44}, {Terminate, 10}, {Shift, 14}})
	switch f.Kind {
	case Freeze:
		f.For = frozen(r, 10*time.Second) // silent for 10 s, a node loses its jobs
	case Shift:
		f.For = between(r, 0, 2*time.Second)
		f.Shift = choose(r, []weighted[int]{{-90, 1}, {90, 1}, {-3600, 1}, {3600, 1}, {-30 * 86400, 1}, {400 * 86400, 1}})
		f.Step = choose(r, []weighted[int]{{0, 1}, {-600, 1}, {600, 1}, {86400, 1}})
	default:
		f.For = between(r, 0, 8*time.Second)
	}
	return f
}

// frozen is mostly longer than the time after which others take what the frozen one holds.
func frozen(r *rand.Rand, lease time.Duration) time.Duration {
	if r.IntN(3) == 0 {
		return between(r, time.Second, lease-2*time.Second)
	}
	return between(r, lease+time.Second, lease+10*time.Second)
}

func serverFault(r *rand.Rand) Fault {
	f := Fault{Target: pick(r, Servers()), For: between(r, 2*time.Second, 8*time.Second)}
	f.Kind = choose(r, []weighted[Kind]{{Kill, 24}, {Freeze, 30}, {Terminate, 8}, {Full, 9}, {Broken, 9}, {Slow, 9}, {Truncated, 9}, {Garbage, 9}})
	switch f.Kind {
	case Kill, Terminate:
		f.For = between(r, 0, 5*time.Second)
	case Freeze:
		f.For = frozen(r, 15*time.Second) // a run's lease
	case Slow:
		f.Amount = 500 + r.IntN(4000)
	}
	return f
}

func databaseFault(r *rand.Rand) Fault {
	if r.IntN(3) == 0 {
		return Fault{Target: Database, Kind: Freeze, For: between(r, time.Second, 9*time.Second)}
	}
	return Fault{Target: Database, Kind: Kill, For: between(r, 0, 3*time.Second)}
}

func linkFault(r *rand.Rand) Fault {
	f := Fault{Target: pick(r, Links()), For: between(r, 2*time.Second, 14*time.Second)}
	f.Kind = choose(r, []weighted[Kind]{{Reset, 18}, {Fin, 12}, {HalfClose, 12}, {Blackhole, 18}, {Cut, 16}, {Delay, 14}, {Dribble, 10}})
	switch f.Kind {
	case Reset, Fin, HalfClose:
		f.For = 0
	case Delay:
		f.Amount = 20 + r.IntN(600)
	case Dribble:
		f.Amount = 2000 + r.IntN(30000)
	}
	return f
}
