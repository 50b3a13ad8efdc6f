package dashboard

import (
	"math"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return noon.Add(time.Duration(ms) * time.Millisecond) }

func ptr[T any](v T) *T { return &v }

// TestScale puts moments on lines: in order, from end to end, and long waits shortened.
func TestScale(t *testing.T) {
	t.Parallel()
	s := newScale(at(0), at(100_300), []stretch{{at(0), at(100)}, {at(50), at(200)}, {at(100_200), at(100_300)}}, at(40_200))
	var shortened int
	for _, p := range s.parts {
		if p.shortened {
			shortened++
		}
	}
	if shortened != 2 || len(s.parts) != 4 {
		t.Errorf("%d parts, %d of them shortened: %+v", len(s.parts), shortened, s.parts)
	}
	last := -1.0
	for ms := 0; ms <= 100_300; ms += 50 {
		x := s.at(at(ms))
		if x < last || x < 0 || x > 100 || math.IsNaN(x) {
			t.Fatalf("%d ms are at %f, after %f", ms, x, last)
		}
		last = x
	}
	if s.at(at(0)) != 0 || math.Abs(s.at(at(100_300))-100) > 0.001 || s.at(at(-5)) != 0 || s.at(at(1_000_000)) != 100 {
		t.Errorf("the ends are at %f and %f", s.at(at(0)), s.at(at(100_300)))
	}
	if wide := s.at(at(200)); wide < 40 { // 200 of 300 ms of work, beside two waits of a quarter of it
		t.Errorf("the work before a long wait takes %f %% of the line", wide)
	}
	for _, odd := range []scale{newScale(at(0), at(0), nil), newScale(at(5), at(0), []stretch{{at(3), at(1)}}), {}} {
		if x := odd.at(at(3)); math.IsNaN(x) || x < 0 || x > 100 {
			t.Errorf("a line without length has a moment at %f", x)
		}
	}
}

// TestWaterfall draws attempts, pauses, waits and replays.
func TestWaterfall(t *testing.T) {
	t.Parallel()
	now := at(60_000)
	steps := []admin.Step{
		{Seq: 1, Kind: "do", Name: "fetch", Occurrence: 1, Status: "complete", StartedAt: at(0), FinishedAt: ptr(at(400)), Attempts: []admin.Attempt{
			{StartedAt: at(0), EndedAt: ptr(at(100)), Error: &admin.Error{Name: "Error", Message: "busy"}}, {StartedAt: at(300), EndedAt: ptr(at(400))},
		}},
		{Seq: 2, Kind: "sleep", Name: "night", Occurrence: 1, Status: "complete", StartedAt: at(400), FinishedAt: ptr(at(20_400)), WakeAt: ptr(at(20_400)), Attempts: []admin.Attempt{}},
		{Seq: 3, Kind: "do", Name: "beside", Occurrence: 1, Status: "running", StartedAt: at(20_500), Attempts: []admin.Attempt{{StartedAt: at(20_500)}}},
		{Seq: 4, Kind: "sleep", Name: "nap", Occurrence: 1, Status: "complete", StartedAt: at(20_500), FinishedAt: ptr(at(50_000)), Attempts: []admin.Attempt{}},
		{Seq: 5, Kind: "waitForEvent", Name: "review", Occurrence: 2, Status: "waiting", StartedAt: at(50_000), WakeAt: ptr(at(90_000)), Attempts: []admin.Attempt{}},
	}
	of := admin.Summary{Status: wf.Running, WaitingFor: &admin.Wait{Kind: "event", Name: "review", Types: []string{"reviewed"}}}
	w := newWaterfall(of, steps, now)
	classes := func(r row) (all string) {
		for _, b := range r.Bars {
			all += b.Class + " "
			if b.W < thinnest || b.X < 0 || b.X > 100 || b.X+b.W > 100+thinnest {
				t.Errorf("%s has a bar from %f, %f wide", r.Name, b.X, b.W)
			}
		}
		return all
	}
	for n, want := range []string{"failed gap done ", "wait ", "busy ", "wait ", "wait "} {
		if got := classes(w.Rows[n]); got != want {
			t.Errorf("row %d has the bars %s, want %s", n, got, want)
		}
	}
	if len(w.Replays) != 1 { // after the night; during the nap something else ran
		t.Errorf("replays: %+v", w.Replays)
	}
	if w.Rows[4].Note != "waits for event reviewed" || w.Rows[4].Due == nil || w.Rows[4].Label() != "review #2" {
		t.Errorf("the wait says %q until %v", w.Rows[4].Note, w.Rows[4].Due)
	}
	of.Status = wf.Paused
	if w := newWaterfall(of, steps, now); w.Rows[4].Due != nil {
		t.Error("a clock that stands still counts down")
	}
	if w := newWaterfall(of, nil, now); len(w.Rows) != 0 {
		t.Errorf("no steps are %+v", w)
	}
}
