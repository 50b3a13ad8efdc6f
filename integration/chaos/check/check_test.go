package check

import (
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
)

// zero is when the runs of these tests begin.
var zero = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(seconds float64) time.Time { return zero.Add(time.Duration(seconds * float64(time.Second))) }

func ref[T any](v T) *T { return &v }

// sound is a run in which one job was taken from a node that died and done by another, and one instance was taken from
// a run whose lease had ended. Nothing is wrong with it.
func sound() *State {
	held := func(node string, epoch int64, until float64, retries int) *jobState {
		return &jobState{Status: processing, Epoch: epoch, Assignee: ref(node), Until: ref(at(until)), Retries: retries}
	}
	waiting := &jobState{Status: pending, RunAt: ref(at(0))}
	again := &jobState{Status: pending, Epoch: 2, RunAt: ref(at(15)), Retries: 1, Errors: 1, Error: &failure{"lease_expired", "node n1-a is gone", 1}}
	answer := map[string]any{"nonce": "shop-b.1.1", "n": int64(7)}
	done := &jobState{Status: success, Epoch: 3, Retries: 1, Errors: 1, Result: answer}
	made := map[string]any{"v": int64(5), "pass": "go-b.1.2"}
	queued := &instanceState{Status: "queued"}
	first := &instanceState{Status: "running", Fence: 1, Token: ref("a"), Until: ref(at(16))}
	second := &instanceState{Status: "running", Fence: 2, Token: ref("b"), Until: ref(at(32))}
	stored := &instanceState{Status: "running", Fence: 2, Token: ref("b"), Until: ref(at(33)), StepsDone: 1}
	ended := &instanceState{Status: "complete", Fence: 2, StepsDone: 1}
	step := []any{"w0", int64(0), "do", "s0", int64(1)}
	row := stepRow{ID: surreal.NewRecordID("_00_wf_step", step), Instance: surreal.NewRecordID("_00_wf_instance", "w0"), Status: "complete", Output: made}
	return withRun(&State{
		Plan: &plan.Plan{
			Jobs:      []plan.Job{{ID: "j0", Kind: plan.JobOK, N: 7}},
			Instances: []plan.Instance{{ID: "w0", Backend: "go", Ops: []plan.Op{{Op: plan.OpDo, V: 5}}}},
		},
		Journal: []journal.Entry{
			{At: at(1).UnixNano(), What: journal.Request, Job: "job:j0", Node: "n1", Attempt: 1, Nonce: "shop-a.1.1"},
			{At: at(16).UnixNano(), What: journal.Request, Job: "job:j0", Node: "n2", Attempt: 2, Nonce: "shop-b.1.1"},
			{At: at(1).UnixNano(), What: journal.Pass, Instance: "w0", Nonce: "go-a.1.2"},
			{At: at(18).UnixNano(), What: journal.Pass, Instance: "w0", Nonce: "go-b.1.2"},
			{At: at(18).UnixNano(), What: journal.Call, Instance: "w0", Step: "s0", Attempt: 1, Nonce: "go-b.1.2"},
		},
		Jobs: []jobRow{{
			ID: surreal.NewRecordID("job", "j0"), Status: success, Retries: 1, Epoch: 3, Result: answer,
			Errors: []failure{{"lease_expired", "node n1-a is gone", 1}},
		}},
		JobLog: []jobEntry{
			{at(0), "CREATE", "job:j0", nil, waiting},
			{at(1), "UPDATE", "job:j0", waiting, held("n1-a", 1, 31, 0)},
			{at(15), "UPDATE", "job:j0", held("n1-a", 1, 31, 0), again},
			{at(16), "UPDATE", "job:j0", again, held("n2-b", 3, 46, 1)},
			{at(17), "UPDATE", "job:j0", held("n2-b", 3, 46, 1), done},
		},
		NodeLog: []nodeEntry{
			{at(0), "CREATE", "n1-a", ref(at(0))}, {at(2), "UPDATE", "n1-a", ref(at(2))}, {at(2), "CREATE", "n2-b", ref(at(2))}, {at(14), "UPDATE", "n2-b", ref(at(14))},
		},
		// The second tick of the beat is made up for late: that of 15 s falls into it.
		ScheduleLog: append(clocks(), beats(5, 5.1, 10, 17, 20, 20, 25)...),
		TickLog:     []tickEntry{ticked(5, 5.1), ticked(10, 17), ticked(20, 20), closed(5, 18), closed(10, 18), closed(20, 21)},
		Instances: []instanceRow{{
			ID: surreal.NewRecordID("_00_wf_instance", "w0"), Status: "complete", Output: []any{made}, StepsDone: 1, Fence: 2,
		}},
		InstanceLog: []instanceEntry{
			{at(0), "CREATE", "w0", nil, queued},
			{at(1), "UPDATE", "w0", queued, first},
			{at(17), "UPDATE", "w0", first, second},
			{at(18), "UPDATE", "w0", second, stored},
			{at(19), "UPDATE", "w0", stored, ended},
		},
		Steps:   []stepRow{row},
		StepLog: []stepEntry{{at(18), "CREATE", "w0", step, 2, ref("b"), nil, &stepState{Status: "complete", Attempts: 1, Output: made}, 0}},
	})
}

// TestRules: nothing is found in a run that is sound, and each fault is found by the rule that is there for it.
func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range append(clockworkSpoilings(), []spoiling{
		{"sound", func(*State) {}, ""},
		{"a job is gone", func(s *State) { s.Jobs = nil }, "lost"},
		{"a job is left", func(s *State) { s.Jobs[0].Status = processing }, "stuck"},
		{"a job failed", func(s *State) { s.Jobs[0].Status = failed }, "outcome"},
		{"a result is another's", func(s *State) { s.Journal[1].Job = "job:j1" }, "outcome"},
		{"a result is wrong", func(s *State) { s.Plan.Jobs[0].N = 8 }, "outcome"},
		{"a job keeps its holder", func(s *State) { s.Jobs[0].Assignee = ref("n2-b") }, "row"},
		{"an error is missing", func(s *State) { s.Jobs[0].Errors = nil }, "attempts"},
		{"errors are out of order", func(s *State) { s.Jobs[0].Errors = append(s.Jobs[0].Errors, failure{0, "", 2}, failure{0, "", 1}) }, "attempts"},
		{"a stale answer is accepted", func(s *State) { s.JobLog[4].After.Result = map[string]any{"nonce": "shop-a.1.1"} }, "stale"},
		{"a stale failure is accepted", func(s *State) {
			s.JobLog[4].After = &jobState{Status: failed, Epoch: 3, Retries: 2, Errors: 2, Error: &failure{0, "timeout", 1}}
		}, "stale"},
		{"an answer comes from nowhere", func(s *State) { s.JobLog[4].After.Result = map[string]any{"nonce": "shop-c.1.1"} }, "stale"},
		{"a job is taken from a node that lives", func(s *State) { s.NodeLog[1].At = at(12) }, "lease"},
		{"a job is taken from a node that came back while it was", func(s *State) {
			s.NodeLog[1].At, s.JobLog[2].At = at(13.1), at(15.2)
		}, ""},
		{"a job is taken from a node that has just left", func(s *State) {
			s.NodeLog[1].At, s.JobLog[2].At = at(12), at(15.1)
			s.NodeLog = slices.Insert(s.NodeLog, 2, nodeEntry{at(13.05), "DELETE", "n1-a", nil})
		}, ""},
		{"a job is taken by a second claim", func(s *State) {
			s.JobLog[2].After.Status, s.JobLog[2].After.Assignee = processing, ref("n2-b")
		}, "double"},
		{"a job is claimed early", func(s *State) { s.JobLog[2].After.RunAt = ref(at(17)) }, "early"},
		{"a claim does not raise the epoch", func(s *State) { s.JobLog[1].After.Epoch = 0 }, "claim"},
		{"an update of a job is lost", func(s *State) { s.JobLog = slices.Delete(s.JobLog, 2, 3) }, "history"},
		{"a tenant has too many jobs at once", func(s *State) {
			for n := range plan.TenantConcurrency + 1 {
				j := plan.Job{ID: string(rune('a' + n)), Tenant: 3}
				s.Plan.Jobs = append(s.Plan.Jobs, j)
				s.JobLog = append(s.JobLog, jobEntry{at(20), "UPDATE", j.Key(), s.JobLog[0].After, s.JobLog[1].After})
			}
		}, "partition"},
		{"a tick happens early", func(s *State) { s.ScheduleLog[5].At = at(9.9) }, "schedule"},
		{"a tick is left out", func(s *State) { s.ScheduleLog[4].After.Next = ref(at(15)) }, "schedule"},
		{"a tick has started nothing", func(s *State) { s.TickLog[2].After.Target = "" }, "schedule"},
		{"a request has no claim", func(s *State) {
			s.Journal = append(s.Journal, journal.Entry{What: journal.Request, Job: "job:j0", Node: "n3", Attempt: 2, Nonce: "x"})
		}, "unclaimed"},
		{"a request is sent twice", func(s *State) { s.Journal = append(s.Journal, s.Journal[1]) }, "unclaimed"},
		{"an instance is gone", func(s *State) { s.Instances = nil }, "lost"},
		{"an instance is left", func(s *State) { s.Instances[0].Status = "waiting" }, "stuck"},
		{"an instance failed", func(s *State) { s.Instances[0].Status = "errored" }, "outcome"},
		{"an instance keeps its run", func(s *State) { s.Instances[0].Token = ref("b") }, "row"},
		{"steps are counted wrong", func(s *State) { s.Instances[0].StepsDone = 2 }, "counter"},
		{"a workflow saw what is not stored", func(s *State) {
			s.Instances[0].Output = []any{map[string]any{"v": int64(5), "pass": "go-a.1.2"}}
		}, "outcome"},
		{"a workflow saw a wrong value", func(s *State) { s.Plan.Instances[0].Ops[0].V = 6 }, "outcome"},
		{"a result was made by nobody", func(s *State) { s.Journal = slices.Delete(s.Journal, 4, 5) }, "outcome"},
		{"a lease is ignored", func(s *State) { s.InstanceLog[1].After.Until = ref(at(30)) }, "lease"},
		{"a run has no fence of its own", func(s *State) { s.InstanceLog[2].After.Fence = 1 }, "fence"},
		{"a stale pass writes", func(s *State) {
			e := s.StepLog[0]
			e.At, e.Step, e.After = at(17.5), []any{"w0", int64(0), "do", "s1", int64(1)}, &stepState{Status: "complete", Output: map[string]any{"pass": "go-a.1.2"}}
			s.StepLog = append([]stepEntry{e}, s.StepLog...)
		}, "stale"},
		{"a pass goes on under a later fence", func(s *State) {
			e := s.StepLog[0]
			e.At, e.Fence, e.Step = at(18.5), 3, []any{"w0", int64(0), "do", "s1", int64(1)}
			s.StepLog = append(s.StepLog, e)
		}, "stale"},
		{"a restart keeps a step", func(s *State) {
			e := s.StepLog[0]
			e.At, e.Step, e.Fence, e.Token = at(18.5), []any{"w0", int64(1), "do", "s0", int64(1)}, 7, nil
			s.StepLog = append(s.StepLog, e)
		}, ""},
		{"a step is written without a run", func(s *State) { s.StepLog[0].Token = nil }, "stale"},
		{"a step is stored twice", func(s *State) {
			e := s.StepLog[0]
			e.At, e.Event, e.Before = at(18.5), "UPDATE", e.After
			s.StepLog = append(s.StepLog, e)
		}, "committed twice"},
		{"a finished instance changes", func(s *State) {
			s.InstanceLog = append(s.InstanceLog, instanceEntry{at(20), "UPDATE", "w0", s.InstanceLog[4].After, s.InstanceLog[4].After})
		}, "history"},
		{"an acknowledged event is gone", func(s *State) {
			s.Journal = append(s.Journal, journal.Entry{What: journal.Verb, Instance: "w0", Text: "event e0: done"})
		}, "event"},
		{"a block was executed without being stored", func(s *State) {
			s.Plan.Instances[0].Ops[0].Op = plan.OpQuery
			s.Counts = []countRow{{surreal.NewRecordID("chaos_count", []any{"w0", "s0"}), 2}}
		}, "counter"},
		{"a step without retries was called twice", func(s *State) {
			s.Plan.Instances[0].Ops[0].Op = plan.OpOnce
			s.Journal = append(s.Journal, s.Journal[4])
		}, "called twice"},
	}...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := sound()
			c.spoil(s)
			found := s.Findings()
			switch {
			case c.rule == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case c.rule != "" && !slices.ContainsFunc(found, func(f Finding) bool { return f.Rule == c.rule }):
				t.Errorf("found %v, want one of the rule %q", found, c.rule)
			}
		})
	}
}

// TestFindingsComeWithTheirHistory: a finding is printed with all that the database and the journals say of it.
func TestFindingsComeWithTheirHistory(t *testing.T) {
	t.Parallel()
	s := sound()
	s.Instances[0].StepsDone = 3
	var text strings.Builder
	s.Print(&text, s.Findings())
	for _, part := range []string{"FINDING counter w0: steps_done is 3", "database CREATE nothing -> [queued", "fence 2", "journal  pass", "nonce go-b.1.2"} {
		if !strings.Contains(text.String(), part) {
			t.Errorf("%q is not in\n%s", part, text.String())
		}
	}
}
