package logs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
)

func ringed(size int) (*Ring, *slog.Logger) {
	r := NewRing(size)
	return r, slog.New(r.Handler(slog.NewTextHandler(discard{}, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func recent(t *testing.T, r *Ring, f Filter) string {
	t.Helper()
	all, err := r.Recent(t.Context(), f)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, l := range all {
		fmt.Fprintf(&b, "%d %s %s;", l.Seq, l.Level, l.Message)
	}
	return b.String()
}

func TestARingKeepsTheNewestLines(t *testing.T) {
	t.Parallel()
	r, log := ringed(3)
	if got := recent(t, r, Filter{}); got != "" {
		t.Errorf("an empty ring has %q", got)
	}
	for n := range 5 {
		log.Info(fmt.Sprint("line ", n))
	}
	log.Warn("careful")
	for _, c := range []struct {
		f    Filter
		want string
	}{
		{Filter{}, "4 info line 3;5 info line 4;6 warn careful;"},
		{Filter{After: 5}, "6 warn careful;"},
		{Filter{After: 99}, ""},
		{Filter{Limit: 1}, "6 warn careful;"},
		{Filter{Level: "warn"}, "6 warn careful;"},
		{Filter{Query: "LINE 4"}, "5 info line 4;"},
		{Filter{Source: "logs"}, "4 info line 3;5 info line 4;6 warn careful;"},
		{Filter{Source: "ssp"}, ""},
	} {
		if got := recent(t, r, c.f); got != c.want {
			t.Errorf("%+v: %q, want %q", c.f, got, c.want)
		}
	}
}

type hidden string

func (hidden) LogValue() slog.Value { return slog.StringValue("***") }

func TestALineIsBoundedAndMasksWhatMasksItself(t *testing.T) {
	t.Parallel()
	r, log := ringed(10)
	log.With("node", "n1").WithGroup("db").With("user", "root").Info(strings.Repeat("x", 1<<20),
		"pass", hidden("sesame"), slog.Group("in", "n", 1), "broken", "\xff", "long", strings.Repeat("y", 1<<20))
	all, _ := r.Recent(t.Context(), Filter{})
	l := all[0]
	want := map[string]string{"node": "n1", "db.user": "root", "db.pass": "***", "db.in.n": "1", "db.broken": "�"}
	for name, value := range want {
		if l.Attributes[name] != value {
			t.Errorf("%s is %q, want %q", name, l.Attributes[name], value)
		}
	}
	if len(l.Message) > maxMessage+3 || len(l.Attributes["db.long"]) > maxAttribute+3 {
		t.Errorf("message of %d bytes, attribute of %d", len(l.Message), len(l.Attributes["db.long"]))
	}
	var many []any
	for n := range 100 {
		many = append(many, fmt.Sprint("a", n), n)
	}
	log.Info("many", many...)
	if all, _ = r.Recent(t.Context(), Filter{After: 1}); len(all[0].Attributes) > maxAttributes {
		t.Errorf("%d attributes", len(all[0].Attributes))
	}
}

func TestFollowTellsWhatIsKeptAndWhatComes(t *testing.T) {
	t.Parallel()
	r, log := ringed(100)
	for n := range 5 {
		log.Info(fmt.Sprint(n))
	}
	enough := errors.New("enough")
	var got []string
	var writers sync.WaitGroup
	defer writers.Wait()
	err := r.Follow(t.Context(), Filter{Limit: 2, Level: "info"}, func(l Line) error {
		got = append(got, l.Message)
		switch len(got) {
		case 2:
			writers.Go(func() { log.Debug("no"); log.Info("5"); log.Info("6") })
		case 4:
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) || strings.Join(got, " ") != "3 4 5 6" {
		t.Errorf("%v, %v", got, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := r.Follow(ctx, Filter{}, func(Line) error { return nil }); !errors.Is(err, context.Canceled) {
		t.Errorf("after the end: %v", err)
	}
}

func TestASlowReaderHoldsUpNobodyAndSeesTheGap(t *testing.T) {
	t.Parallel()
	r, log := ringed(10)
	log.Info("first")
	enough := errors.New("enough")
	var seqs []uint64
	_ = r.Follow(t.Context(), Filter{}, func(l Line) error {
		if seqs = append(seqs, l.Seq); len(seqs) == 1 {
			for range 1000 { // while this reader stands still
				log.Info("more")
			}
		}
		if l.Seq == 1001 {
			return enough
		}
		return nil
	})
	if len(seqs) != 11 || seqs[1] != 992 {
		t.Errorf("told %v", seqs)
	}
}
