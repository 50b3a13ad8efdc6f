package wf

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/memory"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A twin is an instance kept twice, by the database's functions and in memory. Whatever is done to
// one is done to the other, and both must answer and look the same.
type twin struct {
	fatal  func(format string, args ...any)
	ctx    context.Context
	client *surreal.Client
	db     *database
	mem    *memory.Store
	id     string
	tokens int
	ahead  time.Duration // of the memory's clock before the database's
	fences []int         // of the runs so far
	jobs   [][2]string   // their jobs' ids, in the database and in memory
}

const twinBinding = "TWIN"

func connectTwin(t *testing.T) *surreal.Client {
	t.Helper()
	target := devdbtest.Fresh(t)
	client, hangUp, err := surreal.Connect(t.Context(), surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace,
		Database: target.Database, Username: target.User, Password: target.Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = hangUp() })
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err == nil {
		_, err = schema.Apply(t.Context(), client)
	}
	if err == nil {
		err = surreal.Exec(t.Context(), client, ddl, nil)
	}
	if err == nil {
		_, err = schema.PrepareOutbox(t.Context(), client, "job")
	}
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func newTwin(ctx context.Context, client *surreal.Client, id string, fatal func(string, ...any)) *twin {
	w := &twin{fatal: fatal, ctx: ctx, client: client, db: newDatabase(client.Retrying()), id: id}
	w.mem = memory.New(twinQuery[time.Time](w, "RETURN time::now()", nil))
	made := twinQuery[struct{ OK bool }](w, "RETURN fn::spky::wf::create($new)", map[string]any{"new": map[string]any{
		"id": id, "binding": twinBinding, "params": map[string]any{"n": 1}, "job_table": "job", "owner": surreal.None, "backend": surreal.None, "version": surreal.None,
	}})
	if ok := w.mem.Create(id, twinBinding, []byte(`{"n":1}`)); ok != made.OK {
		fatal("create: %t in the database, %t in memory", made.OK, ok)
	}
	return w
}

func twinQuery[T any](w *twin, surql string, vars map[string]any) T {
	value, err := surreal.First[T](w.ctx, w.client.Retrying(), surql, vars)
	if err != nil {
		w.fatal("%s: %v", surql, err)
	}
	return value
}

// both compares what the two answered.
func (w *twin) both(what string, db any, err error, mem any, memErr error) {
	if err != nil || memErr != nil {
		w.fatal("%s: %v, %v", what, err, memErr)
	}
	if !reflect.DeepEqual(db, mem) {
		w.fatal("%s: the database answers %+v, the memory %+v", what, db, mem)
	}
}

// elapse lets time pass for both. The database's clock can't be moved, so its rows are moved back.
func (w *twin) elapse(d time.Duration) {
	w.ahead += d
	w.mem.Advance(w.mem.Now().Add(d))
	for table, fields := range map[string]string{
		"_00_wf_instance": "lease_until wake_at started_at finished_at pause_requested paused_at stalled_at",
		"_00_wf_step":     "retry_at wake_at started_at finished_at",
		"_00_wf_event":    "sent_at",
		"job":             "run_at",
	} {
		var sets []string
		for field := range strings.FieldsSeq(fields) {
			sets = append(sets, fmt.Sprintf("%s = IF %s = NONE { NONE } ELSE { %s - $d }", field, field, field))
		}
		mine := map[string]string{"_00_wf_instance": "id = type::record('_00_wf_instance', $id)", "job": "payload.instance = $id"}[table]
		if mine == "" {
			mine = "instance = type::record('_00_wf_instance', $id)"
		}
		twinQuery[any](w, fmt.Sprintf("UPDATE %s SET %s WHERE %s RETURN NONE", table, strings.Join(sets, ", "), mine),
			map[string]any{"d": surreal.Duration(d), "id": w.id})
	}
}

func (w *twin) acquire(job int) {
	w.tokens++
	token := fmt.Sprint("run ", w.tokens)
	jobs := [2]string{}
	if job >= 0 && job < len(w.jobs) {
		jobs = w.jobs[job]
	}
	a, errA := w.db.Acquire(w.ctx, w.id, twinBinding, jobs[0], token)
	b, errB := w.mem.Acquire(w.ctx, w.id, twinBinding, jobs[1], token)
	if a.State == "acquired" {
		w.fences = append(w.fences, a.Instance.Fence)
	}
	w.both("acquire", toldAcquired(a), errA, toldAcquired(b), errB)
}

// toldAcquired is an answer without the times, which row compares.
func toldAcquired(a protocol.Acquired) string {
	out := fmt.Sprintf("%s %s fence %d run %d incarnation %d pausing %t params %v", a.State, a.Status, a.Instance.Fence, a.Instance.Runs,
		a.Instance.Incarnation, a.Instance.PauseRequested != nil, a.Instance.Params)
	for _, s := range a.Steps {
		out += fmt.Sprintf("\nstep %s %q %d %s attempts %d output %v error %v", s.Kind, s.Name, s.Occurrence, s.Status, len(s.Attempts), s.Output, s.Error)
	}
	for _, e := range a.Events {
		out += fmt.Sprintf("\nevent %d %s %v", e.Number, e.Type, e.Payload)
	}
	return out
}

func (w *twin) ack(what string, call func(protocol.Store) (protocol.Ack, error)) {
	a, errA := call(earlier{w.db, w.ahead})
	b, errB := call(w.mem)
	w.both(what, a, errA, b, errB)
}

func (w *twin) verb(name string, args map[string]any, mem memory.Verdict) {
	params := "$id"
	vars := map[string]any{"id": w.id}
	if args != nil {
		params += ", $type, $payload"
		for k, v := range args {
			vars[k] = v
		}
	}
	w.both(name, twinQuery[memory.Verdict](w, "RETURN fn::spky::wf::"+name+"("+params+")", vars), nil, mem, nil)
}

// restartFrom begins again from a step.
func (w *twin) restartFrom(from protocol.From) {
	vars := map[string]any{"id": w.id, "from": StepRef(from).row()}
	answer := twinQuery[memory.Verdict](w, "RETURN fn::spky::wf::restart($id, $from)", vars)
	w.both(fmt.Sprintf("restart from %+v", from), answer, nil, w.mem.Restart(w.id, &from), nil)
}

// claim marks the instance's job as running, as the sync processor does.
func (w *twin) claim() {
	twinQuery[any](w, "UPDATE array::filter([(SELECT VALUE job FROM ONLY type::record('_00_wf_instance', $id))], |$job| $job != NONE) SET status = 'processing', run_at = NONE RETURN NONE",
		map[string]any{"id": w.id})
	w.mem.Claim(w.id)
}

// A face is what can be seen of an instance. Times are minutes from now, rounded: everything that a
// test does takes whole minutes.
type face struct {
	Status, CurrentStep      string
	Output, Error            any
	StepsDone                int
	WaitingFor               any
	Runs, Incarnation, Fence int
	Stalls, EventsSent       int
	Warning                  any
	Leased                   bool
	Times                    map[string]int
	Job                      string
	Steps, Events            []string
}

const faceQuery = `RETURN {
	now: time::now(),
	i: (SELECT * FROM ONLY type::record('_00_wf_instance', $id)),
	job: (SELECT status, run_at, cancel_requested FROM ONLY (SELECT VALUE job FROM ONLY type::record('_00_wf_instance', $id))),
	steps: (SELECT * FROM _00_wf_step WHERE instance = type::record('_00_wf_instance', $id)),
	events: (SELECT * FROM _00_wf_event WHERE instance = type::record('_00_wf_instance', $id))
}`

type dbFace struct {
	Now time.Time
	I   struct {
		Status         string
		CurrentStep    string `json:"current_step"`
		Output         any
		Error          any
		StepsDone      int        `json:"steps_done"`
		WaitingFor     any        `json:"waiting_for"`
		WakeAt         *time.Time `json:"wake_at"`
		StartedAt      *time.Time `json:"started_at"`
		FinishedAt     *time.Time `json:"finished_at"`
		Runs           int
		Incarnation    int
		Fence          int
		Stalls         int
		EventsSent     int `json:"events_sent"`
		Warning        any
		PauseRequested *time.Time        `json:"pause_requested"`
		PausedAt       *time.Time        `json:"paused_at"`
		StalledAt      *time.Time        `json:"stalled_at"`
		LeaseToken     string            `json:"lease_token"`
		LeaseUntil     *time.Time        `json:"lease_until"`
		Job            *surreal.RecordID `json:"job"`
	}
	Job *struct {
		Status          string
		RunAt           *time.Time `json:"run_at"`
		CancelRequested *time.Time `json:"cancel_requested"`
	}
	Steps []struct {
		protocol.Step
		FinishedAt *time.Time `json:"finished_at"`
	}
	Events []eventFace
}

type eventFace struct {
	eventRow
	ConsumedBy *surreal.RecordID `json:"consumed_by"`
}

// consumer names the step that got the event, of the instance's present incarnation; "" for none.
func (e eventFace) consumer() string {
	if e.ConsumedBy == nil {
		return ""
	}
	key, _ := e.ConsumedBy.ID.([]any)
	return fmt.Sprint(key[1:]...)
}

func minutes(now time.Time, times map[string]*time.Time) map[string]int {
	out := map[string]int{}
	for name, at := range times {
		if at != nil && !at.IsZero() {
			out[name] = int(at.Sub(now).Round(time.Minute) / time.Minute)
		}
	}
	return out
}

// plain makes a value comparable by way of JSON.
func plain(v any) any {
	data, err := surreal.ToJSON(v)
	if err != nil {
		data, _ = json.Marshal(v)
	}
	var out any
	_ = json.Unmarshal(data, &out)
	return out
}

func stepFace(now time.Time, s protocol.Step, output any, finished *time.Time) string {
	times := map[string]*time.Time{"retry": s.RetryAt, "wake": s.WakeAt, "started": &s.StartedAt, "finished": finished}
	open := 0
	for _, a := range s.Attempts { // their times are in no column, which elapse could move
		if a.EndedAt == nil {
			open++
		}
	}
	failed := ""
	if s.Error != nil {
		failed = s.Error.Message
	}
	return fmt.Sprintf("%s %q %d %s seq %d attempts %d, %d open, config %v output %v error %q %v", s.Kind, s.Name, s.Occurrence, s.Status, s.Seq,
		len(s.Attempts), open, plain(s.Config), output, failed, minutes(now, times))
}

func (w *twin) dbFace() (face, time.Time) {
	d := twinQuery[dbFace](w, faceQuery, map[string]any{"id": w.id})
	i := d.I
	f := face{
		Status: i.Status, CurrentStep: i.CurrentStep, Output: plain(i.Output), Error: plain(i.Error), StepsDone: i.StepsDone, WaitingFor: plain(i.WaitingFor),
		Runs: i.Runs, Incarnation: i.Incarnation, Fence: i.Fence, Stalls: i.Stalls, EventsSent: i.EventsSent, Warning: plain(i.Warning), Leased: i.LeaseToken != "",
		Times: minutes(d.Now, map[string]*time.Time{
			"wake": i.WakeAt, "started": i.StartedAt, "finished": i.FinishedAt, "pause": i.PauseRequested,
			"paused": i.PausedAt, "stalled": i.StalledAt,
		}),
	}
	if d.Job != nil {
		f.Job = jobFace(d.Now, d.Job.Status == "processing", d.Job.CancelRequested != nil, d.Job.RunAt)
	}
	for _, s := range d.Steps {
		f.Steps = append(f.Steps, stepFace(d.Now, s.Step, plain(s.Output), s.FinishedAt))
	}
	for _, e := range d.Events {
		f.Events = append(f.Events, fmt.Sprintf("%d %s %v by %q %v", e.event().Number, e.Type, plain(e.Payload), e.consumer(), minutes(d.Now, map[string]*time.Time{"sent": &e.SentAt})))
	}
	if i.Job != nil {
		w.know(surreal.FormatID(*i.Job))
	}
	return f, d.Now
}

func jobFace(now time.Time, claimed, cancelled bool, due *time.Time) string {
	if claimed {
		return fmt.Sprintf("claimed, cancelled %t", cancelled)
	}
	return fmt.Sprint("due ", minutes(now, map[string]*time.Time{"": due}))
}

// know keeps the ids of the instance's job.
func (w *twin) know(db string) {
	i, _ := w.mem.Instance(w.id)
	pair := [2]string{db, i.Job}
	if !slices.Contains(w.jobs, pair) {
		w.jobs = append(w.jobs, pair)
	}
}

func (w *twin) memFace() face {
	i, _ := w.mem.Instance(w.id)
	now := w.mem.Now()
	f := face{
		Status: i.Status, CurrentStep: i.CurrentStep, StepsDone: i.StepsDone, Runs: i.Runs, Incarnation: i.Incarnation, Fence: i.Fence,
		Stalls: i.Stalls, EventsSent: i.EventsSent, Warning: plain(any(i.Warning)), Leased: i.LeaseToken != "",
		Times: minutes(now, map[string]*time.Time{
			"wake": i.WakeAt, "started": i.StartedAt, "finished": i.FinishedAt, "pause": i.PauseRequested,
			"paused": i.PausedAt, "stalled": i.StalledAt,
		}),
	}
	_ = json.Unmarshal(i.Output, &f.Output)
	if i.Warning == nil {
		f.Warning = nil
	}
	if i.Error != nil {
		f.Error = map[string]any{"name": i.Error.Name, "message": i.Error.Message}
	}
	switch wait := i.WaitingFor; {
	case wait == nil:
	case wait.Kind == "pause":
		f.WaitingFor = map[string]any{"kind": "pause"}
	default:
		f.WaitingFor = plain(map[string]any{"kind": wait.Kind, "name": wait.Name, "types": wait.Types, "waits": wait.Waits})
	}
	if job, ok := w.mem.Job(w.id); ok {
		f.Job = jobFace(now, job.Claimed, job.Cancelled, &job.Due)
	}
	for _, s := range w.mem.Steps(w.id) {
		var output any
		_ = json.Unmarshal(s.Output, &output)
		f.Steps = append(f.Steps, stepFace(now, s.Step, output, s.FinishedAt))
	}
	for _, e := range w.mem.Events(w.id) {
		var payload any
		_ = json.Unmarshal(e.Payload, &payload)
		f.Events = append(f.Events, fmt.Sprintf("%d %s %v by %q %v", e.Number, e.Type, payload, e.Consumer, minutes(now, map[string]*time.Time{"sent": &e.SentAt})))
	}
	return f
}

// compare holds the two against each other, and sets the memory's clock to the database's.
func (w *twin) compare(after string) {
	db, now := w.dbFace()
	w.mem.Advance(now.Add(w.ahead))
	mem := w.memFace()
	if !reflect.DeepEqual(db, mem) {
		w.fatal("after %s:\ndatabase %+v\nmemory   %+v", after, db, mem)
	}
}

// TestMemoryBehavesAsTheDatabase does the same random things to an instance in the database and to one
// in memory.
func TestMemoryBehavesAsTheDatabase(t *testing.T) {
	t.Parallel()
	client := connectTwin(t)
	n := 0
	rapid.Check(t, func(r *rapid.T) {
		n++
		w := newTwin(t.Context(), client, fmt.Sprint("i", n), r.Fatalf)
		r.Repeat(w.actions())
	})
}
