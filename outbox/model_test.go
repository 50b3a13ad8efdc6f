package outbox

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/surreal"
)

// A model is what one job must be after any sequence of verbs of several nodes.
type model struct {
	rig      *rig
	id       surreal.RecordID
	attempts int // max_retries
	words    []string

	status          Status
	due             bool
	retries, epoch  int
	errors          []string
	holder          string
	expired, cancel bool
	result          bool
	// known are the epochs that nodes got with their claims, the present one and stale ones.
	known []int
	alive map[string]bool
}

var modelNodes = []string{"a", "b", "c"}

func (m *model) fail(t *rapid.T, format string, args ...any) {
	t.Helper()
	t.Fatalf("after %s: %s", strings.Join(m.words, ", "), fmt.Sprintf(format, args...))
}

func (m *model) did(format string, args ...any) {
	m.words = append(m.words, fmt.Sprintf(format, args...))
}

func (m *model) note(code any) {
	m.errors = append(m.errors, fmt.Sprint(code))
	m.errors = m.errors[max(0, len(m.errors)-20):]
}

// claim is any node's, whatever state the job is in.
func (m *model) claim(t *rapid.T) {
	node := rapid.SampledFrom(modelNodes).Draw(t, "node")
	jobs := m.rig.claims(node, m.id)
	m.did("%s claims", node)
	if want := m.status == Pending && m.due; want != (len(jobs) == 1) {
		m.fail(t, "%d jobs claimed, want %t", len(jobs), want)
	}
	if len(jobs) == 0 {
		return
	}
	m.epoch++
	if jobs[0].Epoch != int64(m.epoch) || jobs[0].Attempt() != m.retries+1 || jobs[0].Attempts() != min(max(m.attempts, 1), MaxAttempts) {
		m.fail(t, "claimed %+v", jobs[0])
	}
	m.status, m.due, m.holder, m.expired = Processing, false, node, false
	m.known = append(m.known, m.epoch)
}

// settle writes an outcome under any epoch that a node ever knew.
func (m *model) settle(t *rapid.T) {
	if len(m.known) == 0 {
		t.Skip("nobody has claimed the job yet")
	}
	epoch := rapid.SampledFrom(m.known).Draw(t, "epoch")
	o := Outcome{ID: m.id, Epoch: int64(epoch), Status: rapid.SampledFrom([]Status{Success, Failed, Cancelled, Pending}).Draw(t, "status")}
	o.Counts = rapid.Bool().Draw(t, "counts")
	if rapid.Bool().Draw(t, "later") {
		o.Wait = time.Hour
	}
	if rapid.Bool().Draw(t, "failure") {
		o.Failure = &Failure{Code: rapid.IntRange(400, 599).Draw(t, "code"), Reason: "r", Attempt: m.retries + 1}
	}
	if o.Status == Success {
		o.Result = "done"
	}
	got := m.rig.settle(o)
	m.did("%s under %d", o.Status, epoch)
	m.expectSettled(t, o, got)
}

func (m *model) expectSettled(t *rapid.T, o Outcome, got Settled) {
	t.Helper()
	held := m.status == Processing && int(o.Epoch) == m.epoch
	same := !held && int(o.Epoch) == m.epoch && (m.status == o.Status || o.Status == Pending && m.status == Cancelled)
	if got.Err != nil || got.Written != (held || same) {
		m.fail(t, "settled as %+v, want written %t", got, held || same)
	}
	if !held {
		if got.Status != m.status {
			m.fail(t, "found %q, want %q", got.Status, m.status)
		}
		return
	}
	m.status = o.Status
	if o.Failure != nil {
		m.note(o.Failure.Code)
	}
	if m.cancel && o.Status == Pending {
		m.status = Cancelled
		m.note("cancelled")
	}
	if o.Counts {
		m.retries++
	}
	m.due, m.result, m.holder, m.cancel = m.status == Pending && o.Wait == 0, o.Result != nil, "", false
	if got.Status != m.status {
		m.fail(t, "%q was written, want %q", got.Status, m.status)
	}
}

func (m *model) cancelIt(t *rapid.T) {
	was := m.rig.operate("cancel", m.id)
	m.did("cancel")
	if was != (operation{m.status, m.status == Pending || m.status == Processing}) {
		m.fail(t, "cancel: %+v; want %q", was, m.status)
	}
	switch m.status {
	case Pending:
		m.status, m.due = Cancelled, false
		m.note("cancelled")
	case Processing:
		m.cancel = true
	}
}

func (m *model) retryIt(t *rapid.T) {
	was := m.rig.operate("retry", m.id)
	m.did("retry")
	if was != (operation{m.status, m.status.Terminal()}) {
		m.fail(t, "retry: %+v; want %q", was, m.status)
	}
	if m.status.Terminal() {
		m.status, m.due, m.retries, m.errors, m.result = Pending, true, 0, nil, false
		m.epoch++
	}
}

// byHand is somebody who sets a finished row to pending without any verb.
func (m *model) byHand(t *rapid.T) {
	if !m.status.Terminal() {
		t.Skip("the job is not finished")
	}
	m.rig.setting(m.id, "status = 'pending'")
	m.did("pending by hand")
	m.status, m.due = Pending, true
}

func (m *model) expire(t *rapid.T) {
	if m.status != Processing {
		t.Skip("nobody holds the job")
	}
	m.rig.setting(m.id, "lease_until = time::now() - 1s")
	m.did("the lease runs out")
	m.expired = true
}

func (m *model) dieOrLive(t *rapid.T) {
	node := rapid.SampledFrom(modelNodes).Draw(t, "node")
	m.alive[node] = !m.alive[node]
	m.did("%s alive %t", node, m.alive[node])
	if m.alive[node] {
		m.rig.live(node)
		return
	}
	m.rig.dead(node)
}

func (m *model) reap(t *rapid.T) {
	for _, node := range modelNodes { // the test may take longer than a heartbeat lasts
		if m.alive[node] {
			m.rig.live(node)
		}
	}
	reaped := m.rig.reap(m.id)
	m.did("reap")
	lost := m.status == Processing && (m.expired || !m.alive[m.holder])
	if lost != (len(reaped) == 1) {
		m.fail(t, "reaped %v, want %t", reaped, lost)
	}
	if !lost {
		return
	}
	m.retries++
	m.epoch++
	switch {
	case m.cancel:
		m.status = Cancelled
		m.note("cancelled")
	case m.retries >= min(max(m.attempts, 1), MaxAttempts)+3:
		m.status = Failed
		m.note("lease_expired")
	default:
		m.status = Pending
		m.note("lease_expired")
	}
	m.due, m.holder, m.cancel, m.expired = m.status == Pending, "", false, false
}

// check compares the row with the model.
func (m *model) check(t *rapid.T) {
	row := m.rig.row(m.id)
	var codes []string
	for _, e := range row.Errors {
		codes = append(codes, fmt.Sprint(e.Code))
	}
	if row.Status != m.status || row.Retries != m.retries || row.Epoch != int64(m.epoch) || row.Assignee != m.holder ||
		strings.Join(codes, " ") != strings.Join(m.errors, " ") || (row.Cancel != nil) != m.cancel || (row.Result != nil) != m.result ||
		(row.RunAt != nil) != (m.status == Pending) || (row.Until != nil) != (m.status == Processing) {
		m.fail(t, "the row is %+v, want status %s, %d retries, epoch %d, holder %q, errors %v, cancel %t", row, m.status, m.retries, m.epoch, m.holder, m.errors, m.cancel)
	}
	if row.RunAt != nil && m.due != !row.RunAt.After(time.Now().Add(time.Minute)) {
		m.fail(t, "due at %v, want now %t", row.RunAt, m.due)
	}
}

// TestAJobIsWhatItsModelSays runs random verbs of several nodes on one job in the real database, stale
// ones, repeated ones and those that make no sense included.
func TestAJobIsWhatItsModelSays(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	next := 0
	rapid.Check(t, func(t *rapid.T) {
		next++
		m := &model{rig: r, status: Pending, due: true, alive: map[string]bool{"a": true, "b": true, "c": true}, attempts: rapid.IntRange(0, 3).Draw(t, "max_retries")}
		r.live(modelNodes...)
		m.id = r.job(next, map[string]any{"max_retries": m.attempts})
		t.Repeat(map[string]func(*rapid.T){
			"claim": m.claim, "claim too": m.claim, "settle": m.settle, "settle too": m.settle, "cancel": m.cancelIt, "retry": m.retryIt,
			"by hand": m.byHand, "expire": m.expire, "die or live": m.dieOrLive, "reap": m.reap, "": m.check,
		})
	})
}
