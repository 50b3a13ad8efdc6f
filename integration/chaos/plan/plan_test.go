package plan

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func draw(t *testing.T, o Options) *Plan {
	t.Helper()
	p, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

var usual = Options{Seed: 42, Length: 5 * time.Minute, Jobs: 3000, Workflows: 400, Clock: true}

func TestSameSeedSamePlan(t *testing.T) {
	t.Parallel()
	a, b := draw(t, usual), draw(t, usual)
	if !reflect.DeepEqual(a, b) {
		t.Error("the same options gave two plans")
	}
	other := usual
	other.Seed++
	if c := draw(t, other); reflect.DeepEqual(a.Faults, c.Faults) || reflect.DeepEqual(a.Instances, c.Instances) {
		t.Error("another seed gave the same plan")
	}
	more := usual
	more.Jobs *= 2
	if c := draw(t, more); !reflect.DeepEqual(a.Faults, c.Faults) || !reflect.DeepEqual(a.Instances, c.Instances) {
		t.Error("more jobs changed the faults or the workflows")
	}
}

// TestPlanHasEverything: five minutes of a usual run meet every kind of fault and of work.
func TestPlanHasEverything(t *testing.T) {
	t.Parallel()
	p := draw(t, usual)
	met := map[string]bool{}
	last := map[string]time.Duration{}
	for _, f := range p.Faults {
		met[string(f.Kind)] = true
		met["of "+strings.TrimRight(f.Target, "123ab-")] = true
		if end := last[f.Target]; end > f.At {
			t.Errorf("%s meets a target whose last fault ends at %s", f, end)
		}
		last[f.Target] = f.At + f.For
		if f.At > usual.Length {
			t.Errorf("%s comes after the end", f)
		}
	}
	for _, j := range p.Jobs {
		met[j.Kind] = true
	}
	for _, a := range p.Acts {
		met[a.Verb] = true
	}
	for _, i := range p.Instances {
		met[i.Verb] = true
		for _, op := range i.Ops {
			met[op.Op+" "+i.Backend] = true
		}
	}
	want := []Kind{
		Kill, Freeze, Terminate, Shift, Reset, Fin, HalfClose, Blackhole, Cut, Delay, Dribble, Full, Broken, Slow, Truncated, Garbage,
		JobOK, JobSlow, JobFlaky, JobTorn, JobHang, JobText, JobDeny, JobExhaust, JobLater, JobCanceled, VerbPause, VerbTerminate, VerbRestart,
		ActCancelJob, ActRetryJob, ActPause, ActResume, ActTerminate, ActSend, ActRestart, ActRetry, ActCancelRun, ActRetryRun, ActTrigger, ActPauseClock,
		ActResumeClock, ActList,
		"of n", "of shop", "of go", "of ts", "of d",
	}
	for _, op := range []string{OpDo, OpLate, OpOnce, OpPar, OpSleep, OpEvent, OpTimeout, OpDeny} {
		want = append(want, Kind(op+" go"), Kind(op+" ts"))
	}
	for _, what := range append(want, OpQuery+" go") {
		if !met[string(what)] {
			t.Errorf("no %q in the plan", what)
		}
	}
}

// TestEachServerServesSomebody: no backend process is there for nothing, and none is alone.
func TestEachServerServesSomebody(t *testing.T) {
	t.Parallel()
	serves := map[string]int{}
	for _, n := range Nodes() {
		for _, b := range Backends() {
			serves[Server(n, b)]++
		}
	}
	for _, s := range Servers() {
		if serves[s] == 0 {
			t.Errorf("%s serves nobody: %v", s, serves)
		}
	}
}

func TestOptionsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for _, o := range []Options{
		{Length: time.Second, Jobs: 1, Workflows: 1},
		{Length: time.Minute, Workflows: 1},
		{Length: time.Minute, Jobs: 1},
		{Length: time.Minute, Jobs: 1, Workflows: 1, Gap: -1},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

// TestTicks: a cron's are whole multiples, those of an interval keep the phase of the first.
func TestTicks(t *testing.T) {
	t.Parallel()
	first := time.Date(2026, 1, 1, 0, 0, 3, 0, time.UTC)
	for _, c := range []struct {
		s     Schedule
		after float64
		want  int
	}{
		{Schedule{Interval: 5 * time.Second, Cron: true}, 0, 2},
		{Schedule{Interval: 5 * time.Second, Cron: true}, 2, 7},
		{Schedule{Interval: 10 * time.Second}, 0, 10},
		{Schedule{Interval: 10 * time.Second}, 9.9, 10},
		{Schedule{Interval: 10 * time.Second}, 10, 20},
	} {
		after := first.Add(time.Duration(c.after * float64(time.Second)))
		if got := c.s.Tick(first, after); !got.Equal(first.Add(time.Duration(c.want) * time.Second)) {
			t.Errorf("the tick of %+v after %s is %s, want that of second %d", c.s, after, got, c.want)
		}
	}
}
