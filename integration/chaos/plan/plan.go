// Package plan makes the whole of a chaos run from a seed: what work is created when, what happens to
// the installation when, and what the work has to come to whatever happens. The same options give the
// same plan, to the millisecond; what the plan then meets in the installation is up to the machine.
package plan

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// Options of a run.
type Options struct {
	// Seed of everything that is drawn.
	Seed uint64
	// Length of the time during which work is created and faults are injected.
	Length time.Duration
	// Jobs and Workflows are how many of each are created. Neither has a default.
	Jobs, Workflows int
	// Gap is the mean time between two faults. Defaults to 2.5 s.
	Gap time.Duration
	// Clock says whether the nodes' clocks can be shifted: they are, then, whenever a node starts anew.
	Clock bool
}

// A Plan is what happens in a run. Times count from its beginning.
type Plan struct {
	Options
	Faults    []Fault
	Jobs      []Job
	Instances []Instance
	Acts      []Act
}

// New draws a plan.
func New(o Options) (*Plan, error) {
	switch {
	case o.Length < 10*time.Second:
		return nil, fmt.Errorf("plan: a run of %s is too short; 10s is the least", o.Length)
	case o.Jobs < 1 || o.Workflows < 1:
		return nil, errors.New("plan: there have to be jobs and workflows")
	case o.Gap < 0:
		return nil, fmt.Errorf("plan: the gap between faults is %s", o.Gap)
	}
	o.Gap = cmp.Or(o.Gap, 2500*time.Millisecond)
	p := &Plan{Options: o}
	// A stream of its own for each part: more jobs do not change the faults.
	p.Faults = drawFaults(stream(o.Seed, 1), o)
	p.Jobs = drawJobs(stream(o.Seed, 2), o)
	p.Instances = drawInstances(stream(o.Seed, 3), o)
	p.Acts = drawActs(stream(o.Seed, 5), o)
	return p, nil
}

func stream(seed, part uint64) *rand.Rand {
	return rand.New(rand.NewPCG(seed, part)) //nolint:gosec // it has to be repeatable, not secret
}

// between draws a time, to the millisecond.
func between(r *rand.Rand, from, to time.Duration) time.Duration {
	return (from + time.Duration(r.Int64N(int64(to-from)+1))).Round(time.Millisecond)
}

// A weighted choice: each value is drawn as often as its weight says.
type weighted[T any] struct {
	value  T
	weight int
}

func choose[T any](r *rand.Rand, from []weighted[T]) T {
	sum := 0
	for _, one := range from {
		sum += one.weight
	}
	at := r.IntN(sum)
	for _, one := range from {
		if at -= one.weight; at < 0 {
			return one.value
		}
	}
	panic("unreachable")
}

// byTime sorts by when something happens.
func byTime[T any](list []T, at func(T) time.Duration) {
	slices.SortStableFunc(list, func(a, b T) int { return cmp.Compare(at(a), at(b)) })
}
