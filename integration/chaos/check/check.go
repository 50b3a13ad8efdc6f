package check

import (
	"fmt"
	"io"
	"sort"
	"strings"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// A Finding is a rule that something has broken.
type Finding struct {
	// Rule is a word for it: lost, stuck, stale, …
	Rule string
	// Entity is a job's id as text, or an instance's; "" where it is neither.
	Entity string
	// Text says what is wrong.
	Text string
}

// A checker has the state by entity.
type checker struct {
	*State
	findings []Finding

	planned  map[string]bool // jobs
	jobs     map[string]jobRow
	jobLog   map[string][]jobEntry
	requests map[string][]journal.Entry // by job
	verbs    map[string][]journal.Entry // by job
	byNonce  map[string]journal.Entry   // requests
	beats    map[string][]nodeEntry     // by node's life

	instances   map[string]instanceRow
	instanceLog map[string][]instanceEntry
	stepLog     map[string][]stepEntry
	steps       map[string]map[stepID]stepRow
	events      map[string][]eventRow
	of          map[string][]journal.Entry // by instance, and what jobs of DAGs were given

	runs        map[string]runRow
	runLog      map[string][]runEntry
	dagLog      map[string][]dagStepEntry // by run
	scheduleLog map[string][]scheduleEntry
	ticksOf     map[string]map[string][]tickEntry // by schedule and id
	audits      map[string][]auditEntry           // by what they are about

	again      map[string]int // how often a job that was over began again
	prunedRows int
}

// Findings are all that is wrong, in a fixed order.
func (s *State) Findings() []Finding {
	c := s.index()
	for _, j := range s.Plan.Jobs {
		c.plannedJob(j)
	}
	c.tenants()
	c.schedules()
	c.dags()
	c.operators()
	c.rollups()
	for _, key := range sorted(c.jobs, c.jobLog) {
		c.jobHistory(key)
		if row, ok := c.jobs[key]; ok {
			c.jobRow(row)
		}
		c.jobRequests(key)
	}
	planned := map[string]plan.Instance{}
	for _, i := range s.Plan.Instances {
		planned[i.ID] = i
		c.plannedInstance(i)
	}
	for _, key := range sorted(c.instances, c.instanceLog) {
		i, ok := planned[key]
		if strings.HasPrefix(key, plan.Pulse+"-") {
			i, ok = plan.Pulsed(key), true
			c.plannedInstance(i)
		}
		if !ok {
			c.find("unknown", key, "nobody has planned this instance")
			continue
		}
		c.instanceHistory(key)
		c.stepHistory(key)
		c.counts(i)
		if row, ok := c.instances[key]; ok {
			c.instanceRow(i, row)
		}
	}
	return c.findings
}

func (c *checker) find(rule, entity, format string, args ...any) {
	c.findings = append(c.findings, Finding{Rule: rule, Entity: entity, Text: fmt.Sprintf(format, args...)})
}

func sorted[A, B any](a map[string]A, b map[string]B) []string {
	keys := map[string]bool{}
	for key := range a {
		keys[key] = true
	}
	for key := range b {
		keys[key] = true
	}
	list := make([]string, 0, len(keys))
	for key := range keys {
		list = append(list, key)
	}
	sort.Strings(list)
	return list
}

func (s *State) index() *checker {
	c := &checker{
		State: s, planned: map[string]bool{}, jobs: map[string]jobRow{}, jobLog: map[string][]jobEntry{}, requests: map[string][]journal.Entry{},
		verbs: map[string][]journal.Entry{}, byNonce: map[string]journal.Entry{}, beats: map[string][]nodeEntry{}, instances: map[string]instanceRow{},
		instanceLog: map[string][]instanceEntry{}, stepLog: map[string][]stepEntry{}, steps: map[string]map[stepID]stepRow{},
		events: map[string][]eventRow{}, of: map[string][]journal.Entry{}, again: map[string]int{},
	}
	for _, j := range s.Plan.Jobs {
		c.planned[j.Key()] = true
	}
	for _, r := range s.Jobs {
		if r.Gone == nil || jobOver(r.Status) { // else it was taken back by its instance
			c.jobs[r.key()] = r
		}
	}
	for _, e := range s.JobLog {
		c.jobLog[e.Key] = append(c.jobLog[e.Key], e)
	}
	for _, e := range s.NodeLog {
		c.beats[e.Node] = append(c.beats[e.Node], e)
	}
	for _, r := range s.Instances {
		c.instances[r.key()] = r
	}
	for _, e := range s.InstanceLog {
		c.instanceLog[e.Key] = append(c.instanceLog[e.Key], e)
	}
	for _, e := range s.StepLog {
		c.stepLog[e.Key] = append(c.stepLog[e.Key], e)
	}
	c.indexSteps()
	c.indexClockwork()
	c.indexJournal()
	return c
}

// indexSteps sorts steps and events. Those that were deleted before their instance was are no more.
func (c *checker) indexSteps() {
	gone := func(key string, at *time.Time) bool {
		finished := c.instances[key].Finished
		return at != nil && (finished == nil || at.Before(*finished))
	}
	for _, r := range c.Steps {
		id := parseStep(r.ID.ID)
		if gone(id.Instance, r.Gone) {
			continue
		}
		if c.steps[id.Instance] == nil {
			c.steps[id.Instance] = map[stepID]stepRow{}
		}
		c.steps[id.Instance][id] = r
	}
	for _, r := range c.Events {
		if key := fmt.Sprint(r.Instance.ID); !gone(key, r.Gone) {
			c.events[key] = append(c.events[key], r)
		}
	}
}

func (c *checker) indexClockwork() {
	c.runs, c.runLog, c.dagLog = map[string]runRow{}, map[string][]runEntry{}, map[string][]dagStepEntry{}
	c.scheduleLog, c.ticksOf, c.audits = map[string][]scheduleEntry{}, map[string]map[string][]tickEntry{}, map[string][]auditEntry{}
	for _, r := range c.Runs {
		c.runs[r.key()] = r
	}
	for _, e := range c.RunLog {
		c.runLog[e.Key] = append(c.runLog[e.Key], e)
	}
	for _, e := range c.DAGStepLog {
		c.dagLog[e.Key] = append(c.dagLog[e.Key], e)
	}
	for _, e := range c.ScheduleLog {
		c.scheduleLog[e.Key] = append(c.scheduleLog[e.Key], e)
	}
	for _, e := range c.TickLog {
		if c.ticksOf[e.Schedule] == nil {
			c.ticksOf[e.Schedule] = map[string][]tickEntry{}
		}
		c.ticksOf[e.Schedule][e.Key] = append(c.ticksOf[e.Schedule][e.Key], e)
	}
	for _, e := range c.Audit {
		c.audits[e.Key] = append(c.audits[e.Key], e)
	}
}

func (c *checker) indexJournal() {
	for _, e := range c.Journal {
		if e.What == journal.Request {
			c.requests[e.Job] = append(c.requests[e.Job], e)
			c.byNonce[e.Nonce] = e
		}
		if e.What == journal.Verb && e.Job != "" {
			c.verbs[e.Job] = append(c.verbs[e.Job], e)
		}
		if e.What == journal.Given {
			c.of[e.Job] = append(c.of[e.Job], e)
		}
		if e.Instance != "" {
			c.of[e.Instance] = append(c.of[e.Instance], e)
		}
	}
}

// Of one rule so many findings are shown with their history, and so many at all.
const (
	shownHistories = 3
	shownFindings  = 20
)

// Print writes findings: of each rule the first with the whole history of what they are about, of the others the text.
func (s *State) Print(w io.Writer, findings []Finding) {
	shown := map[string]int{}
	for _, f := range findings {
		if shown[f.Rule]++; shown[f.Rule] > shownFindings {
			continue
		}
		fmt.Fprintf(w, "FINDING %s %s: %s\n", f.Rule, f.Entity, f.Text)
		if shown[f.Rule] <= shownHistories && f.Entity != "" {
			for _, line := range s.History(f.Entity) {
				fmt.Fprintf(w, "    %s\n", line)
			}
		}
	}
}

// Rules counts findings by rule.
func Rules(findings []Finding) string {
	counts := map[string]int{}
	for _, f := range findings {
		counts[f.Rule]++
	}
	return counted(counts)
}
