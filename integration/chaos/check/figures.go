package check

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// Figures writes what was done and how late.
func (s *State) Figures(w io.Writer) {
	var t tally
	for _, e := range s.JobLog {
		t.change(e)
	}
	for _, e := range s.Journal {
		t.entry(e)
	}
	t.workflows(s)
	fmt.Fprintf(w, "jobs       %d planned, %d rows with those of runs; %d claims, %d requests, %d attempts failed, %d released, %d taken from nodes that were gone\n",
		len(s.Plan.Jobs), len(s.Jobs), t.claims, t.requests, t.failed, t.released, t.reaped)
	fmt.Fprintf(w, "workflows  %d planned; %d passes, %d steps stored, %d calls of functions, %d attempts lost with their process, %d runs whose lease ran out\n",
		len(s.Plan.Instances), t.passes, len(s.Steps), t.calls, t.lost, t.expired)
	fmt.Fprintf(w, "ticks      %s\n", s.ticks())
	fmt.Fprintf(w, "dags       %s\n", s.dagRuns())
	fmt.Fprintf(w, "operators  %s\n", s.operated())
	fmt.Fprintf(w, "pruned     %s\n", s.gone())
	fmt.Fprintf(w, "ends       %s\n", s.ends())
	fmt.Fprintf(w, "lateness   claim after due: %s\n", quantiles(t.late))
	fmt.Fprintf(w, "           end of a sleep after its time: %s\n", quantiles(s.wakes()))
	fmt.Fprintf(w, "           tick of a schedule after its time: %s\n", quantiles(s.fires()))
}

// A tally is what was done in a run.
type tally struct {
	claims, reaped, released, failed int
	requests, passes, calls          int
	lost, expired                    int
	late                             []time.Duration
}

// change counts a change of a job's row.
func (t *tally) change(e jobEntry) {
	if e.Event != "UPDATE" {
		return
	}
	was, is := e.Before, e.After
	switch {
	case was.Status == pending && is.Status == processing:
		t.claims++
		if was.RunAt != nil && planned(e.Key) {
			t.late = append(t.late, e.At.Sub(*was.RunAt))
		}
	case was.Status != processing:
	case is.Epoch > was.Epoch:
		t.reaped++
	case is.Retries > was.Retries:
		t.failed++
	case is.Status == pending:
		t.released++
	}
}

func (t *tally) entry(e journal.Entry) {
	switch e.What {
	case journal.Request:
		t.requests++
	case journal.Pass:
		t.passes++
	case journal.Call:
		t.calls++
	}
}

func (t *tally) workflows(s *State) {
	for _, step := range s.Steps {
		for _, a := range step.Attempts {
			if a.Error != nil && a.Error.Name == "AttemptLostError" {
				t.lost++
			}
		}
	}
	for _, e := range s.InstanceLog {
		// Taken by the next run, or by the sweep.
		if e.Before != nil && e.After != nil && e.Before.Token != nil && e.Before.Until != nil && !e.Before.Until.After(e.At) && orNone(e.After.Token) != *e.Before.Token && !over(e.After.Status) {
			t.expired++
		}
	}
}

// counted is counts as text.
func counted(counts map[string]int) string {
	list := make([]string, 0, len(counts))
	for _, name := range sorted(counts, map[string]int{}) {
		list = append(list, fmt.Sprintf("%s %d", name, counts[name]))
	}
	return strings.Join(list, ", ")
}

// ticks is what ticks have started, for each key.
func (s *State) ticks() string {
	counts := map[string]int{}
	for _, e := range s.TickLog {
		switch {
		case e.Before == nil && e.Manual:
			counts[e.Schedule+" by hand"]++
		case e.Before == nil && e.After.Status == "skipped":
			counts[e.Schedule+" skipped"]++
		case e.Before == nil:
			counts[e.Schedule]++
		case e.After != nil && e.After.Status == "replaced" && e.Before.Status != "replaced":
			counts[e.Schedule+" replaced"]++
		}
	}
	return counted(counts)
}

func (s *State) dagRuns() string {
	counts := map[string]int{}
	for _, e := range s.RunLog {
		switch {
		case e.Before == nil:
			counts["runs"]++
		case e.After != nil && e.After.Retries > e.Before.Retries:
			counts["retried"]++
		}
	}
	for _, e := range s.DAGStepLog {
		if e.After != nil && e.After.Status == dispatched {
			counts["jobs"]++
		}
	}
	for _, r := range s.Runs {
		counts["ended as "+r.Status]++
	}
	return counted(counts)
}

// operated is what operators were told.
func (s *State) operated() string {
	counts := map[string]int{}
	for _, e := range s.Journal {
		if e.What != journal.Told {
			continue
		}
		kind := "acts"
		if e.Step == plan.ActList {
			kind = "lists"
		}
		answer := fmt.Sprint(e.Status)
		if e.Status == 0 {
			answer = "unanswered"
		}
		counts[kind+" "+answer]++
	}
	return counted(counts)
}

// gone is how many rows were pruned.
func (s *State) gone() string {
	counts := map[string]int{}
	for _, r := range s.Jobs {
		if r.Gone != nil && jobOver(r.Status) {
			counts["jobs"]++
		}
	}
	for _, r := range s.Instances {
		if r.Gone != nil {
			counts["instances"]++
		}
	}
	for _, r := range s.Runs {
		if r.Gone != nil {
			counts["runs"]++
		}
	}
	return counted(counts)
}

func (s *State) ends() string {
	counts := map[string]int{}
	for _, r := range s.Jobs {
		if planned(r.key()) {
			counts["job "+r.Status]++
		}
	}
	for _, r := range s.Instances {
		counts["instance "+r.Status]++
	}
	return counted(counts)
}

// wakes is how late sleeps ended.
func (s *State) wakes() []time.Duration {
	due := map[string]time.Time{}
	var late []time.Duration
	for _, e := range s.StepLog {
		if e.After == nil || parseStep(e.Step).Kind != "sleep" {
			continue
		}
		key := fmt.Sprint(e.Step)
		if e.After.Status == "waiting" && e.After.WakeAt != nil {
			due[key] = *e.After.WakeAt
		}
		if at, ok := due[key]; ok && e.After.Status == "complete" {
			late = append(late, e.At.Sub(at))
		}
	}
	return late
}

// fires is how late ticks happened.
func (s *State) fires() []time.Duration {
	var late []time.Duration
	for _, e := range s.ScheduleLog {
		if e.Before != nil && e.Before.Next != nil && e.After.Fires > e.Before.Fires {
			late = append(late, e.At.Sub(*e.Before.Next))
		}
	}
	return late
}

func quantiles(all []time.Duration) string {
	if len(all) == 0 {
		return "none"
	}
	slices.Sort(all)
	at := func(q float64) time.Duration { return all[int(q*float64(len(all)-1))].Round(time.Millisecond) }
	return fmt.Sprintf("p50 %s, p90 %s, p99 %s, most %s, of %d", at(0.5), at(0.9), at(0.99), at(1), len(all))
}
