package model

import (
	"context"
	"flag"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

type instanceEdge = Edge[InstanceState, InstanceAction, InstanceEffect]

// An instanceWalk is one instance in the database, and what its columns must be.
type instanceWalk struct {
	ctx   context.Context
	db    surreal.Querier
	table *outbox.Table
	id    string
	runs  map[Party]*instanceRun
	// ttl is how long a run's lease lasts, and tokens counts its runs.
	ttl    time.Duration
	tokens int
	// job is the claimed job and its epoch.
	job   surreal.RecordID
	epoch int64

	fence, ran, steps, incarnation, stalls int
}

// An instanceRun is what a run knows from when it acquired the instance.
type instanceRun struct {
	token              string
	fence, incarnation int
}

func (r *rig) instanceWalk(ctx context.Context, db *surreal.Client, n int) (*instanceWalk, error) {
	w := &instanceWalk{
		ctx: ctx, db: db.Retrying(), table: r.table(db), id: fmt.Sprintf("i%d", n), ttl: hour,
		runs: map[Party]*instanceRun{A: {token: "never a"}, B: {token: "never b"}},
	}
	err := w.create()
	return w, err
}

func (w *instanceWalk) create() error {
	_, err := surreal.First[any](w.ctx, w.db, "RETURN fn::spky::wf::create($new)", map[string]any{"new": map[string]any{
		"id": w.id, "binding": "FLOW", "params": 1, "owner": surreal.None, "backend": surreal.None, "job_table": "job",
		"version": surreal.None, "traceparent": surreal.None,
	}})
	return err
}

// call runs one statement that names the instance, its record, the run's fence, and its step.
func call[T any](w *instanceWalk, surql string, run *instanceRun, vars map[string]any) (T, error) {
	if vars == nil {
		vars = map[string]any{}
	}
	vars["id"], vars["fence"], vars["ttl"] = w.id, run.fence, surreal.Duration(w.ttl)
	key := surreal.NewRecordID("_00_wf_instance", w.id)
	vars["op"] = map[string]any{"instance": key, "fence": run.fence, "ttl": surreal.Duration(w.ttl), "name": "s"}
	vars["step"] = surreal.NewRecordID("_00_wf_step", []any{w.id, run.incarnation, "do", "s", 1})
	return surreal.First[T](w.ctx, w.db, surql, vars)
}

// do takes one action and answers with what was told.
func (w *instanceWalk) do(a InstanceAction) (string, error) {
	switch a.Verb {
	case Acquire, AcquireAgain, AcquireOwn, AcquireOther, AcquireWrong:
		return w.acquire(a)
	case Begin, Commit, CommitError, CommitEvent, Renew, Sleep, WaitEvent, HandOver, Finish, FinishError:
		return w.write(a)
	case Rescue:
		return w.rescue()
	case RunsOut:
		return "", w.set("UPDATE type::record('_00_wf_instance', $id) SET lease_until = time::now() - 1s")
	case Comes:
		return "", w.set("UPDATE (SELECT VALUE job FROM ONLY type::record('_00_wf_instance', $id)) SET run_at = time::now()")
	case LoseJob:
		return "", w.set("DELETE (SELECT VALUE job FROM ONLY type::record('_00_wf_instance', $id))")
	case ClaimJob:
		return w.claimJob()
	case EndJob:
		got, err := w.table.Settle(w.ctx, []outbox.Outcome{{ID: w.job, Epoch: w.epoch, Status: outbox.Success}})
		if err == nil && !got[0].Written {
			err = fmt.Errorf("the job's outcome is not written: %+v", got[0])
		}
		return "", err
	default:
		return w.ask(a.Verb)
	}
}

func (w *instanceWalk) set(surql string) error {
	_, err := call[any](w, surql+" RETURN NONE", w.runs[A], nil)
	return err
}

// present is the job that the instance points at.
func (w *instanceWalk) present() (surreal.RecordID, error) {
	return call[surreal.RecordID](w, "SELECT VALUE job FROM ONLY type::record('_00_wf_instance', $id)", w.runs[A], nil)
}

func (w *instanceWalk) acquire(a InstanceAction) (string, error) {
	run := w.runs[a.By]
	token := run.token
	if a.Verb != AcquireAgain {
		w.tokens++
		token = fmt.Sprintf("%s, run %d", a.By, w.tokens)
	}
	vars := map[string]any{"binding": "FLOW", "job": surreal.None, "run": token}
	switch a.Verb {
	case AcquireWrong:
		vars["binding"] = "OTHER"
	case AcquireOther:
		vars["job"] = "job:other"
	case AcquireOwn:
		job, err := w.present()
		if err != nil {
			return "", err
		}
		vars["job"] = surreal.FormatID(job)
	}
	got, err := call[struct {
		State    string `json:"state"`
		Instance struct {
			Fence       int `json:"fence"`
			Incarnation int `json:"incarnation"`
		} `json:"instance"`
	}](w, "RETURN fn::spky::wf::acquire($id, $binding, $job, $run, $ttl)", run, vars)
	if err == nil && got.State == "acquired" {
		*run = instanceRun{token: token, fence: got.Instance.Fence, incarnation: got.Instance.Incarnation}
	}
	return got.State, err
}

// writes are the calls of a run. A step's row is what an SDK would write.
func writes() map[InstanceVerb]string {
	const row = `{ id: $step, instance: $op.instance, seq: 1, kind: 'do', name: 's', occurrence: 1, attempts: [], started_at: time::now(), status: `
	const done = `, finished_at: time::now() }`
	finish := `RETURN fn::spky::wf::finish({ id: $id, fence: $fence, warning: NONE, status: `
	suspend := `RETURN fn::spky::wf::suspend({ id: $id, fence: $fence, wake_at: time::now() + 1h, waiting_for: `
	return map[InstanceVerb]string{
		Begin:       `RETURN fn::spky::wf::begin_step($op, ` + row + `'running' })`,
		Commit:      `RETURN fn::spky::wf::commit_step($op, ` + row + `'complete', output: 1` + done + `, NONE)`,
		CommitError: `RETURN fn::spky::wf::commit_step($op, ` + row + `'errored', error: { name: 'Error', message: 'no' }` + done + `, NONE)`,
		CommitEvent: `RETURN fn::spky::wf::commit_step($op, ` + row + `'complete', output: 1` + done + `, 1)`,
		Renew:       `RETURN fn::spky::wf::renew($id, $fence, $ttl)`,
		Sleep:       suspend + `{ kind: 'sleep', name: 's', types: [], waits: 1 }, events: [] })`,
		WaitEvent:   suspend + `{ kind: 'event', name: 's', types: ['go'], waits: 1 }, events: ['go'] })`,
		HandOver:    `RETURN fn::spky::wf::hand_over($id, $fence)`,
		Finish:      finish + `'complete', output: 1, error: NONE })`,
		FinishError: finish + `'errored', output: NONE, error: { name: 'Error', message: 'no' } })`,
	}
}

func (w *instanceWalk) write(a InstanceAction) (string, error) {
	got, err := call[struct {
		OK       bool `json:"ok"`
		Pause    bool `json:"pause"`
		Repeated bool `json:"repeated"`
	}](w, writes()[a.Verb], w.runs[a.By], nil)
	if err != nil || !got.OK {
		return lost, err
	}
	return ack(got.Pause, got.Repeated), nil
}

func (w *instanceWalk) ask(verb InstanceVerb) (string, error) {
	surql := map[InstanceVerb]string{
		Send: "RETURN fn::spky::wf::send_event($id, 'go', 1)", Pause: "RETURN fn::spky::wf::pause($id)", Resume: "RETURN fn::spky::wf::resume($id)",
		Terminate: "RETURN fn::spky::wf::terminate($id)", Restart: "RETURN fn::spky::wf::restart($id)",
		Rewind: "RETURN fn::spky::wf::restart($id, { name: 's' })", RetryIt: "RETURN fn::spky::wf::retry($id)",
	}[verb]
	got, err := call[struct {
		OK     bool   `json:"ok"`
		Status string `json:"status"`
	}](w, surql, w.runs[A], nil)
	if got.OK {
		return agreed(got.Status), err
	}
	return refused(got.Status), err
}

// rescueForLong puts off the job that a rescue has written for later, which would be due while the walk
// goes on. One that was due at once, which is when the instance is said to have stalled, stays so.
const rescueForLong = `RETURN {
	LET $rescued = fn::spky::wf::rescue(type::record('_00_wf_instance', $id));
	IF $rescued = NONE { RETURN NONE };
	LET $stalled = SELECT job, stalled_at FROM ONLY type::record('_00_wf_instance', $id);
	UPDATE $stalled.job SET run_at = time::now() + 1h WHERE run_at > $stalled.stalled_at RETURN NONE;
	RETURN $rescued;
};`

func (w *instanceWalk) rescue() (string, error) {
	got, err := call[*string](w, rescueForLong, w.runs[A], nil)
	if got == nil {
		return "left alone", err
	}
	return "rescued", err
}

// claimJob is a node that claims the instance's job, which it must find to be the platform's.
func (w *instanceWalk) claimJob() (string, error) {
	job, err := w.present()
	if err != nil {
		return "", err
	}
	jobs, _, err := w.table.Claim(w.ctx, "n", []surreal.RecordID{job})
	if err != nil || len(jobs) != 1 {
		return fmt.Sprintf("%d jobs", len(jobs)), err
	}
	w.job, w.epoch = job, jobs[0].Epoch
	if !jobs[0].Platform {
		return "not the platform's", nil
	}
	return "granted", nil
}

// expect takes the model's step beside the state.
func (w *instanceWalk) expect(e InstanceEffect) {
	if e.Anew {
		w.ran, w.steps, w.stalls = 0, 0, 0
	}
	if e.Progress {
		w.stalls = 0
	}
	if e.Rescued {
		w.stalls++
	}
	w.fence, w.ran, w.steps, w.incarnation = w.fence+e.Fences, w.ran+e.Runs, w.steps+e.Steps, w.incarnation+e.Incarnations
}

// readInstance reads all there is of an instance.
const readInstance = `RETURN {
	LET $i = SELECT * FROM ONLY type::record('_00_wf_instance', $id);
	LET $n = $i.incarnation;
	LET $job = IF $i.job = NONE { NONE } ELSE { (SELECT status, run_at FROM ONLY $i.job) };
	LET $steps = SELECT VALUE status FROM _00_wf_step:[$id, NONE]..=[$id, ..];
	LET $events = SELECT consumed_by FROM _00_wf_event:[$id, NONE]..=[$id, ..];
	RETURN {
		status: $i.status, fence: $i.fence, runs: $i.runs, steps_done: $i.steps_done, incarnation: $i.incarnation, stalls: $i.stalls,
		token: $i.lease_token, lease: IF $i.lease_token = NONE { 0 } ELSE IF $i.lease_until > time::now() { 1 } ELSE { 2 },
		pausing: $i.pause_requested != NONE, waits: $i.waiting_for.kind ?? '', stalled: $i.stalled_at != NONE, finished: $i.finished_at != NONE,
		job: IF $i.job = NONE { 0 } ELSE IF $job = NONE { 5 } ELSE IF $job.status = 'processing' { 3 } ELSE IF $job.status != 'pending' { 4 }
			ELSE IF $job.run_at <= time::now() { 2 } ELSE { 1 },
		steps: $steps, events: array::len($events), consumed: array::len($events[WHERE consumed_by != NONE])
	};
};`

type instanceRow struct {
	Status      string   `json:"status"`
	Fence       int      `json:"fence"`
	Runs        int      `json:"runs"`
	StepsDone   int      `json:"steps_done"`
	Incarnation int      `json:"incarnation"`
	Stalls      int      `json:"stalls"`
	Token       string   `json:"token"`
	Lease       Lease    `json:"lease"`
	Pausing     bool     `json:"pausing"`
	Waits       string   `json:"waits"`
	Stalled     bool     `json:"stalled"`
	Finished    bool     `json:"finished"`
	Job         JobPlace `json:"job"`
	Steps       []string `json:"steps"`
	Events      int      `json:"events"`
	Consumed    int      `json:"consumed"`
}

// differences compares what is stored with the model.
func (w *instanceWalk) differences(s InstanceState) ([]string, error) {
	row, err := call[instanceRow](w, readInstance, w.runs[A], nil)
	if err != nil {
		return nil, err
	}
	token := ""
	if s.Holder != Nobody {
		token = w.runs[s.Holder].token
	}
	var d differences
	d.compare("status", row.Status, s.Status)
	d.compare("fence", row.Fence, w.fence)
	d.compare("runs", row.Runs, w.ran)
	d.compare("steps_done", row.StepsDone, w.steps)
	d.compare("incarnation", row.Incarnation, w.incarnation)
	d.compare("stalls", row.Stalls, w.stalls)
	d.compare("lease_token", row.Token, token)
	d.compare("lease", row.Lease, s.Lease)
	d.compare("pause requested", row.Pausing, s.Pausing)
	d.compare("waiting_for.kind", row.Waits, s.Waits)
	d.compare("stalled", row.Stalled, s.Stalled)
	d.compare("finished", row.Finished, s.terminal())
	d.compare("job", row.Job, s.Job)
	d.compare("steps", strings.Join(row.Steps, " "), s.Step)
	d.compare("events", row.Events, min(int(s.Event), 1))
	d.compare("consumed events", row.Consumed, max(int(s.Event)-1, 0))
	return d, nil
}

// playInstance takes one walk on an instance of its own.
func (r *rig) playInstance(g *Graph[InstanceState, InstanceAction, InstanceEffect]) func(context.Context, *surreal.Client, int, []instanceEdge) error {
	return func(ctx context.Context, db *surreal.Client, n int, walk []instanceEdge) error {
		w, err := r.instanceWalk(ctx, db, n)
		if err != nil {
			return err
		}
		looks := Looks(walk)
		for n, edge := range walk {
			if err := w.take(edge, looks[n]); err != nil {
				return fmt.Errorf("after %v, %s: %w", g.Way(edge.From), edge.Action, err)
			}
		}
		return nil
	}
}

func (w *instanceWalk) take(edge instanceEdge, look bool) error {
	answer, err := w.do(edge.Action)
	if err != nil {
		return err
	}
	w.expect(edge.Effect)
	var found []string
	if look {
		if found, err = w.differences(edge.To); err != nil {
			return err
		}
	}
	return disagreement(found, answer, edge.Answer)
}

// lives are parts of an instance's life that can be tried out in seconds.
func lives() map[string][]InstanceVerb {
	return map[string][]InstanceVerb{
		"fences": {
			Acquire, AcquireAgain, AcquireWrong, Begin, Commit, CommitError, Renew, HandOver, Finish, FinishError, RunsOut,
			Pause, Resume, Terminate, Restart, Rewind, RetryIt,
		},
		"jobs": {
			Acquire, AcquireOwn, AcquireOther, Sleep, HandOver, Finish, FinishError, RunsOut, Comes, ClaimJob, EndJob, LoseJob,
			Rescue, RetryIt, Pause, Resume, Terminate, Restart,
		},
		"events": {
			Acquire, CommitEvent, WaitEvent, Sleep, Finish, RunsOut, Comes, ClaimJob, EndJob, LoseJob, Send, Rescue,
			Pause, Resume, Terminate, Restart, Rewind,
		},
	}
}

var whole = flag.Bool("whole", false, "try the whole life of an instance at once, which takes minutes")

// TestInstancesAreWhatTheirModelSays takes every transition of the model in the database: of parts of an
// instance's life, or with -whole of all of it.
func TestInstancesAreWhatTheirModelSays(t *testing.T) {
	t.Parallel()
	parts := lives()
	if *whole {
		parts = map[string][]InstanceVerb{"whole": slices.Concat(byRuns(), fromOutside())}
	}
	for name, verbs := range parts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := Explore(Instances(verbs...))
			walks := g.Walks(walkLimit)
			report(t, g, walks)
			r := newRig(t, nil)
			if err := take(t, r, walks, r.playInstance(g)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestEveryVerbIsInALife: no verb is in none of the parts.
func TestEveryVerbIsInALife(t *testing.T) {
	t.Parallel()
	var all []InstanceVerb
	for _, verbs := range lives() {
		all = append(all, verbs...)
	}
	for _, verb := range slices.Concat(byRuns(), fromOutside()) {
		if !slices.Contains(all, verb) {
			t.Errorf("%s is tried with -whole only", verb)
		}
	}
}
