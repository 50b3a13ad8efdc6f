package plan

import (
	"regexp"
	"strconv"
	"time"
)

// A Schedule starts something by the clock.
type Schedule struct {
	Name string
	// Interval is the time between two ticks. Those of a Cron fall on its multiples since 1970.
	Interval time.Duration
	Cron     bool
	// Concurrency is what the configuration says: allow, skip, replace.
	Concurrency string
	// Keys are those of the rows that a tick starts something for; one that is "" without.
	Keys []string
}

// Names of the schedules.
const (
	Beat  = "beat"  // starts a job
	Pulse = "pulse" // starts an instance of the Go workflow
	Fan   = "fan"   // starts runs of a DAG, one for each item
	Grid  = "grid"  // starts a run of a DAG, and ends the one before
)

// Schedules are all that there are.
func Schedules() []Schedule {
	alone := []string{""}
	keys := make([]string, len(Items()))
	for i, item := range Items() {
		keys[i] = item.Key
	}
	return []Schedule{
		{Name: Beat, Interval: 5 * time.Second, Cron: true, Concurrency: "allow", Keys: alone},
		{Name: Pulse, Interval: 10 * time.Second, Concurrency: "skip", Keys: alone},
		{Name: Fan, Interval: 10 * time.Second, Concurrency: "allow", Keys: keys},
		{Name: Grid, Interval: 15 * time.Second, Cron: true, Concurrency: "replace", Keys: alone},
	}
}

// Tick is the schedule's tick after a moment, of which first is one.
func (s Schedule) Tick(first, after time.Time) time.Time {
	if s.Cron {
		first = time.Unix(0, 0)
	}
	return first.Add((after.Sub(first)/s.Interval + 1) * s.Interval)
}

// PulseOps are what each instance of the pulse does.
func PulseOps() []Op {
	return []Op{{Op: OpDo, V: 7, WorkMS: 200}, {Op: OpSleep, MS: 400}, {Op: OpDo, V: 8}}
}

// Pulsed is the instance that a tick of the pulse has started.
func Pulsed(id string) Instance { return Instance{ID: id, Backend: "go", Ops: PulseOps()} }

// An Item is a row that the DAG fan has a run for at each tick.
type Item struct {
	Key string `json:"key"`
	// Denials is how many times the step that fails for good does.
	Denials int `json:"denials"`
}

// Items are all of them.
func Items() []Item { return []Item{{"i0", 0}, {"i1", 0}, {"i2", 1}, {"i3", 2}} }

// A DAG is jobs that wait for one another.
type DAG struct {
	Name string
	// OnFailure is what the configuration says.
	OnFailure string
	Steps     []DAGStep
}

// A DAGStep is one of a DAG's. Kind is that of its job: see [JobOK] and the others.
type DAGStep struct {
	Name, Backend, Kind string
	Fails, WorkMS, N    int
	DependsOn           []string
}

// DAGs are all that there are. Their schedules have their names.
func DAGs() []DAG {
	return []DAG{
		{Name: Fan, OnFailure: Halt, Steps: []DAGStep{
			{Name: "fetch", Backend: "shop", Kind: JobOK, N: 1},
			{Name: "clean", Backend: "part", Kind: JobFlaky, Fails: 2, N: 2, DependsOn: []string{"fetch"}},
			{Name: "check", Backend: "shop", Kind: JobAgain, N: 3, DependsOn: []string{"fetch"}}, // as often as the item says
			{Name: "report", Backend: "part", Kind: JobSlow, WorkMS: 300, N: 4, DependsOn: []string{"clean", "check"}},
		}},
		{Name: Grid, OnFailure: Independent, Steps: []DAGStep{
			{Name: "a", Backend: "shop", Kind: JobOK, N: 11},
			{Name: "b", Backend: "part", Kind: JobSlow, WorkMS: 2500, N: 12},
			{Name: "c", Backend: "shop", Kind: JobFlaky, Fails: 1, N: 13, DependsOn: []string{"a"}},
			{Name: "d", Backend: "part", Kind: JobAgain, N: 1, DependsOn: []string{"a"}}, // once
			{Name: "e", Backend: "shop", Kind: JobText, N: 15, DependsOn: []string{"b", "c"}},
			{Name: "f", Backend: "part", Kind: JobTorn, Fails: 1, N: 16, DependsOn: []string{"d"}},
		}},
	}
}

// What a DAG does once a step has failed.
const (
	Halt        = "halt"
	Independent = "continue-independent"
)

// Keep is how long finished rows are kept at least, at the longest twice as long: short enough that most of a run's are pruned while it
// goes on.
func (o Options) Keep() time.Duration {
	return min(max(o.Length/6, 8*time.Second), 44*time.Second).Truncate(2 * time.Second)
}

var retried = regexp.MustCompile("_r(\\d+)[`⟩]?$")

// Retried is how many jobs a step had before the one with this id.
func Retried(job string) int {
	found := retried.FindStringSubmatch(job)
	if found == nil {
		return 0
	}
	n, _ := strconv.Atoi(found[1]) // digits
	return n
}
