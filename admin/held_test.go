package admin

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// holding makes an instance of 150 steps, every third of which came to nothing yet, and as many events, each of a
// thousand bytes; and one beside it, of the same ids but for a letter.
func (r *rig) holding() {
	r.exec(`FOR $id IN ['big', 'bigger'] {
		CREATE type::record('_00_wf_instance', $id) SET binding = 'ALPHA', job_table = 'job', status = 'running', incarnation = 1, events_sent = 150 RETURN NONE;
		FOR $n IN 1..=150 {
			LET $step = CREATE ONLY type::record('_00_wf_step', [$id, 1, 'do', 'convert', $n]) SET seq = $n, kind = 'do', name = 'convert', occurrence = $n, status = 'running',
				started_at = time::now(), attempts = [] RETURN VALUE id;
			IF $n % 3 > 0 { UPDATE $step SET status = 'complete', output = string::repeat('x', 998) RETURN NONE };
			CREATE type::record('_00_wf_event', [$id, 1, $n]) SET instance = type::record('_00_wf_instance', $id), type = 't' + <string>$n, payload = string::repeat('x', 998) RETURN NONE;
		};
	}`, nil)
}

// TestOutputsAndPayloadsAreReadWithinABound looks at more rows than are read at once: every one is there, in order, and
// what is left out is told from what is not there.
func TestOutputsAndPayloadsAreReadWithinABound(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.holding()
	for most, want := range map[int]int{0: 100, 1 << 20: 100, 100_000: 100, 99_999: 99, 64_000: 64, 63_500: 63, 10: 0} {
		d := *r.durable
		d.most = most
		steps, err := d.Steps(r.ctx, "big", 1, true)
		r.check(err)
		var outputs, out []int
		for i, s := range steps {
			if s.Seq != i+1 {
				t.Fatalf("with %d bytes, step %d is number %d", most, s.Seq, i+1)
			}
			if len(s.Output) > len("null") {
				outputs = append(outputs, s.Seq)
			}
			if s.OutputLeftOut {
				out = append(out, s.Seq)
			}
		}
		if len(steps) != 150 || len(outputs) != want || len(out) != 100-want || want > 0 && want < 100 && slices.Max(outputs) > slices.Min(out) {
			t.Errorf("with %d bytes, %d steps, outputs of %d and left out of %d; want 150, %d, %d", most, len(steps), len(outputs), len(out), want, 100-want)
		}
		if bare, err := d.Steps(r.ctx, "big", 1, false); err != nil || len(bare) != 150 || slices.ContainsFunc(bare, func(s Step) bool { return s.OutputLeftOut || s.Output != nil }) {
			t.Errorf("without outputs: %d steps, %v", len(bare), err)
		}
		events := map[int]int{0: 150, 1 << 20: 150}
		r.payloads(d, most, max(events[most], want))
	}
}

// payloads are those of the events, of which want are there.
func (r *rig) payloads(d Durable, most, want int) {
	r.t.Helper()
	events, err := d.Events(r.ctx, "big", 1)
	r.check(err)
	for i, e := range events {
		there := i < want
		if e.Type != fmt.Sprintf("t%d", i+1) || e.PayloadLeftOut == there || (e.Payload != nil) != there {
			r.t.Fatalf("with %d bytes, event %d is %.60v, want its payload: %v", most, i+1, e, there)
		}
	}
	if len(events) != 150 {
		r.t.Errorf("with %d bytes, %d events", most, len(events))
	}
}

// TestTheNewestEventsHaveTheirPayloads has more before them than an answer has room for.
func TestTheNewestEventsHaveTheirPayloads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.holding()
	d := *r.durable
	d.most = 70_000
	for most, want := range map[int]int{50: 50, 70: 70, 1: 1, 0: 0} {
		newest, total, err := d.NewestEvents(r.ctx, "big", 1, most)
		r.check(err)
		for i, e := range newest {
			if e.Type != fmt.Sprintf("t%d", 150-i) || e.PayloadLeftOut || len(e.Payload) != 1000 {
				t.Fatalf("of %d, event %d is %.60v", most, i, e)
			}
		}
		if len(newest) != want || total != 150 {
			t.Errorf("of %d, %d are told, and that there are %d", most, len(newest), total)
		}
	}
	newest, total, err := r.durable.NewestEvents(r.ctx, "big", 1, 1000)
	if err != nil || len(newest) != 150 || total != 150 || newest[149].Type != "t1" || newest[149].PayloadLeftOut {
		t.Errorf("of all, %d are told, and that there are %d, %v", len(newest), total, err)
	}
}

// TestAJobThatFitsIntoNoAnswerIsShownWithoutItsPayload has one that a user had the database make.
func TestAJobThatFitsIntoNoAnswerIsShownWithoutItsPayload(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec("CREATE job:large SET path = '/large', payload = array::repeat(string::repeat('x', 1000), 1100)", nil)
	cfg := r.cfg
	cfg.MaxMessage = 1 << 20
	client, hangUp, err := surreal.Connect(r.ctx, cfg)
	r.check(err)
	defer func() { r.check(hangUp()) }()
	job, err := NewJobs(JobsConfig{DB: client, Backends: r.durable.backends}).Get(r.ctx, "job:large")
	if err != nil || !strings.Contains(string(job.Payload), "the answer is too large") || job.Path != "/large" {
		t.Errorf("it is shown as %.200v, %v", job, err)
	}
	if n := client.State().Reconnects; n > 0 {
		t.Errorf("the connection was lost %d times", n)
	}
}
