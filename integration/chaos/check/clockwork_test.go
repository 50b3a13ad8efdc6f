package check

import (
	"net/http"
	"slices"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
)

// clocks are the schedules of which no tick happens, and how the beat begins.
func clocks() []scheduleEntry {
	var log []scheduleEntry
	for _, s := range plan.Schedules() {
		next := at(s.Interval.Seconds())
		log = append(log, scheduleEntry{At: at(0), Event: "CREATE", Key: s.Name, After: &scheduleState{Next: &next}})
	}
	return log
}

// beats are ticks of the beat: which, and when it happened; the last number is the tick after them.
func beats(seconds ...float64) []scheduleEntry {
	was := &scheduleState{Next: ref(at(seconds[0]))}
	var log []scheduleEntry
	for n := 0; n+2 < len(seconds); n += 2 {
		is := &scheduleState{Next: ref(at(seconds[n+2])), Last: was.Next, Fires: was.Fires + 1}
		log = append(log, scheduleEntry{At: at(seconds[n+1]), Event: "UPDATE", Key: plan.Beat, Before: was, After: is})
		was = is
	}
	return log
}

// ticked is a job that a tick of the beat has started, and closed the note of its end.
func ticked(tick, started float64) tickEntry {
	return tickEntry{
		change:   change[tickState]{At: at(started), Event: "CREATE", Key: at(tick).String(), After: &tickState{Status: "running", Target: "job:j0"}},
		Schedule: plan.Beat, Tick: at(tick),
	}
}

func closed(tick, when float64) tickEntry {
	e := ticked(tick, when)
	e.Event, e.Before, e.After = "UPDATE", &tickState{Status: "running"}, &tickState{Status: success}
	return e
}

const (
	testRun   = "fan-1-i0"
	fetchJob  = "job:`wf_fan-1-i0_fetch`"
	cleanJob  = "part_job:`wf_fan-1-i0_clean`"
	checkJob  = "job:`wf_fan-1-i0_check`"
	reportJob = "part_job:`wf_fan-1-i0_report`"
)

// withRun adds a run of the DAG fan that succeeded, and of which the jobs were pruned later.
func withRun(s *State) *State {
	steps := []struct {
		name, job  string
		begun, end float64
	}{{"fetch", fetchJob, 30, 31}, {"clean", cleanJob, 32, 34}, {"check", checkJob, 32, 33}, {"report", reportJob, 35, 36}}
	change := func(when float64, step, job, was, is string) dagStepEntry {
		var e dagStepEntry
		e.At, e.Event, e.Key, e.Step, e.After = at(when), "UPDATE", testRun, step, &dagStepState{Status: is, Job: job}
		if e.Before = (&dagStepState{Status: was}); was == "" {
			e.Event, e.Before = "CREATE", nil
		}
		return e
	}
	for n, step := range steps {
		first := blocked
		if n == 0 {
			first = ready
		}
		s.DAGStepLog = append(s.DAGStepLog, change(29, step.name, "", "", first))
	}
	for n, step := range steps {
		if n > 0 {
			s.DAGStepLog = append(s.DAGStepLog, change(step.begun, step.name, "", blocked, ready))
		}
		s.DAGStepLog = append(s.DAGStepLog, change(step.begun, step.name, step.job, ready, dispatched))
		if n != 1 { // of clean the other comes before the end
			s.DAGStepLog = append(s.DAGStepLog, change(step.end+0.5, step.name, step.job, dispatched, success))
		}
		if n == 2 {
			s.DAGStepLog = append(s.DAGStepLog, change(34.5, "clean", cleanJob, dispatched, success))
		}
		s.addJob(step.job, step.begun, step.end)
	}
	going := runState{Workflow: plan.Fan, Status: "running"}
	over := runState{Workflow: plan.Fan, Status: success, Revision: 5, Done: 4}
	s.RunLog = []runEntry{{at(29), "CREATE", testRun, nil, &going}, {at(36.5), "UPDATE", testRun, &going, &over}}
	s.Runs = []runRow{{ID: surreal.NewRecordID("_00_workflow_run", testRun), Workflow: plan.Fan, Status: success, Done: 4, Started: ref(at(29)), Finished: ref(at(36.5))}}
	s.Rollups = []rollupRow{
		{Hour: zero, Scope: "job", Of: "job", Name: "/task", Success: 2, WallMS: 2000},
		{Hour: zero, Scope: "job", Of: "part_job", Name: "/task", Success: 2, WallMS: 3000},
	}
	s.Journal = append(
		s.Journal,
		journal.Entry{At: at(32).UnixNano(), What: journal.Given, Job: cleanJob, Text: `{"fetch":{"nonce":"fetched"}}`},
		journal.Entry{At: at(30).UnixNano(), What: journal.Request, Job: fetchJob, Node: "n1", Attempt: 1, Nonce: "fetched"},
		journal.Entry{At: at(40).UnixNano(), What: journal.Asked, Run: testRun, Step: plan.ActList, Nonce: "op.1"},
		journal.Entry{At: at(41).UnixNano(), What: journal.Told, Run: testRun, Step: plan.ActList, Nonce: "op.1", Status: http.StatusOK, Text: `[{"id":"fan-1-i0","status":"success"}]`},
		journal.Entry{At: at(42).UnixNano(), What: journal.Asked, Run: plan.Grid, Step: plan.ActTrigger, Nonce: "op.2"},
		journal.Entry{At: at(43).UnixNano(), What: journal.Told, Run: plan.Grid, Step: plan.ActTrigger, Nonce: "op.2", Status: http.StatusOK},
	)
	s.Audit = []auditEntry{{At: at(42.5), Action: plan.ActTrigger, Key: plan.Grid, Outcome: "done"}}
	return s
}

// addJob adds a job that succeeded at once and was pruned half a minute later.
func (s *State) addJob(key string, begun, end float64) {
	id, err := surreal.ParseID(key)
	if err != nil {
		panic(err)
	}
	waits := &jobState{Status: pending}
	held := &jobState{Status: processing, Epoch: 1, Assignee: ref("n1-a"), Until: ref(at(end + 30))}
	done := &jobState{Status: success, Epoch: 1, Updated: ref(at(end))}
	s.JobLog = append(
		s.JobLog,
		jobEntry{at(begun), "CREATE", key, nil, waits}, jobEntry{at(begun), "UPDATE", key, waits, held}, jobEntry{at(end), "UPDATE", key, held, done},
		jobEntry{at(end + 30), "DELETE", key, done, nil},
	)
	s.Jobs = append(s.Jobs, jobRow{ID: id, Status: success, Epoch: 1, Path: "/task", Created: ref(at(begun)), Updated: ref(at(end)), Gone: ref(at(end + 30))})
}

// A spoiling is something that is wrong with a run that was sound.
type spoiling struct {
	name  string
	spoil func(*State)
	rule  string // "" where nothing is to be found
}

// stepEntryOf finds the entry by which a step became something.
func (s *State) stepEntryOf(step, status string) *dagStepEntry {
	for n, e := range s.DAGStepLog {
		if e.Step == step && e.After != nil && e.After.Status == status {
			return &s.DAGStepLog[n]
		}
	}
	panic(step + " was never " + status)
}

func (s *State) jobEntryOf(job, event string) *jobEntry {
	for n, e := range s.JobLog {
		if e.Key == job && e.Event == event {
			return &s.JobLog[n]
		}
	}
	panic(job)
}

func (s *State) sortSteps() {
	slices.SortStableFunc(s.DAGStepLog, func(a, b dagStepEntry) int { return a.At.Compare(b.At) })
}

// clockworkSpoilings are those of schedules, DAGs, pruning and operators.
func clockworkSpoilings() []spoiling {
	audited := func(s *State, action string, e auditEntry) {
		e.At, e.Action, e.Outcome = at(50), action, "done"
		s.Audit = append(s.Audit, e)
	}
	found := func(status string) auditEntry { return auditEntry{Found: &foundState{Status: status}} }
	return []spoiling{
		{"a tick happens twice", func(s *State) { s.ScheduleLog[5].Before.Next = ref(at(5)) }, "schedule"},
		{"a tick happens in a pause", func(s *State) { s.ScheduleLog[5].Before.Paused = ref(at(8)) }, "schedule"},
		{"a tick starts nothing", func(s *State) { s.TickLog = s.TickLog[1:] }, "schedule"},
		{"a tick that never happened starts something", func(s *State) { s.TickLog = append(s.TickLog, ticked(25, 25), closed(25, 26)) }, "schedule"},
		{"a tick is skipped for nothing", func(s *State) { s.TickLog[0].After = &tickState{Status: "skipped"} }, "schedule"},
		{"a tick is left", func(s *State) { s.TickLog = s.TickLog[:5] }, "stuck"},
		{"a tick came to what its job did not", func(s *State) { s.TickLog[3].After.Status = failed }, "schedule"},
		{"a clock is moved", func(s *State) { s.ScheduleLog[5].After.Fires = 1 }, "schedule"},
		{"nobody paused a schedule", func(s *State) {
			was := s.ScheduleLog[0].After
			one := &scheduleState{Next: was.Next, Paused: ref(at(50))}
			for range 2 { // once the driver did
				s.ScheduleLog = append(
					s.ScheduleLog, scheduleEntry{at(50), "UPDATE", plan.Beat, was, one}, scheduleEntry{at(51), "UPDATE", plan.Beat, one, was},
				)
			}
		}, "schedule"},
		{"a step begins too early", func(s *State) { s.stepEntryOf("fetch", success).At = at(33); s.sortSteps() }, "order"},
		{"a job begins too early", func(s *State) { s.jobEntryOf(reportJob, "CREATE").At = at(20) }, "order"},
		{"a step succeeds without its job", func(s *State) {
			s.stepEntryOf("check", success).At = at(12)
			s.jobEntryOf(checkJob, "CREATE").At = at(40)
		}, "dag"},
		{"a step has failed for no reason", func(s *State) { s.stepEntryOf("report", success).After.Status = failed }, "dag"},
		{"a step is left out", func(s *State) {
			s.stepEntryOf("report", ready).After = &dagStepState{Status: skipped, Error: ref("upstream_failed")}
		}, "dag"},
		{"a run succeeds without a step", func(s *State) { s.DAGStepLog = s.DAGStepLog[:len(s.DAGStepLog)-1] }, "dag"},
		{"a run is left", func(s *State) { s.Runs[0].Status = "running" }, "stuck"},
		{"a run is killed by nobody", func(s *State) {
			s.Runs[0].Status, s.RunLog[1].After.Status, s.RunLog[1].After.Error = killed, killed, ref(killed)
		}, "operator"},
		{"a run counts wrong", func(s *State) { s.Runs[0].Done = 3 }, "counter"},
		{"a run is retried by nobody", func(s *State) {
			s.RunLog = append(s.RunLog, runEntry{at(40), "UPDATE", testRun, s.RunLog[1].After, s.RunLog[0].After})
		}, "operator"},
		{"a run that was to end goes on", func(s *State) { s.RunLog[1].Before.Stopping = ref(killed) }, "operator"},
		{"a step's job comes to what its backend does not", func(s *State) { s.Jobs[1].Status = failed }, "outcome"},
		{"a job is of no step", func(s *State) {
			s.stepEntryOf("report", dispatched).After.Job, s.stepEntryOf("report", success).After.Job = "", ""
		}, "dag"},
		{"a job is given another's answer", func(s *State) { s.Journal[len(s.Journal)-6].Text = `{"fetch":{"nonce":"shop-b.1.1"}}` }, "dag"},
		{"a job is given nothing", func(s *State) { s.Journal[len(s.Journal)-6].Text = `{}` }, "dag"},
		{"a row is pruned too early", func(s *State) { s.jobEntryOf(checkJob, "DELETE").At = at(35) }, "pruned"},
		{"a live row is pruned", func(s *State) { s.jobEntryOf(checkJob, "DELETE").Before.Status = processing }, "history"},
		{"a pruned row is counted twice", func(s *State) { s.Rollups[0].Success++ }, "rollup"},
		{"a pruned row is not counted", func(s *State) { s.Rollups = s.Rollups[1:] }, "rollup"},
		{"time is counted wrong", func(s *State) { s.Rollups[1].WallMS-- }, "rollup"},
		{"an act is acknowledged and did not happen", func(s *State) { s.Audit[0].At = at(41) }, "operator"},
		{"two acts are acknowledged and one happened", func(s *State) { s.Journal = append(s.Journal, s.Journal[len(s.Journal)-1]) }, "operator"},
		{"a cancelled job goes on", func(s *State) { audited(s, plan.ActCancelJob, found(pending)) }, "operator"},
		{"a cancelled run goes on", func(s *State) { audited(s, plan.ActCancelRun, found("running")) }, "operator"},
		{"a paused instance goes on", func(s *State) { audited(s, plan.ActPause, found("running")) }, "operator"},
		{"an API is at a loss", func(s *State) { s.Journal[len(s.Journal)-1].Status = http.StatusInternalServerError }, "answer"},
		{"a list shows what never was", func(s *State) { s.Journal[len(s.Journal)-3].Text = `[{"id":"fan-1-i0","status":"killed"}]` }, "list"},
		{"a list shows something twice", func(s *State) {
			s.Journal[len(s.Journal)-3].Text = `[{"id":"fan-1-i0","status":"success"},{"id":"fan-1-i0","status":"success"}]`
		}, "list"},
		{"a list shows who never was", func(s *State) { s.Journal[len(s.Journal)-3].Text = `[{"id":"fan-2-i0","status":"success"}]` }, "list"},
		{"a list shows what is long past", func(s *State) {
			s.Journal[len(s.Journal)-3].Text = `[{"id":"fan-1-i0","status":"running"}]`
			s.Journal[len(s.Journal)-4].At = at(36.5).Add(slack + time.Millisecond).UnixNano()
			s.Journal[len(s.Journal)-3].At = at(60).UnixNano()
		}, "list"},
		{"nobody has retried a job", func(s *State) {
			s.JobLog = append(s.JobLog, jobEntry{at(40), "UPDATE", "job:j0", s.JobLog[4].After, &jobState{Status: pending, Epoch: 4}})
		}, "operator"},
		{"a job that was to be cancelled is tried again", func(s *State) { s.JobLog[2].Before.Cancel = true }, "operator"},
	}
}
