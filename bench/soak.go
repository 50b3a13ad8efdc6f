package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/surreal"
)

// SoakOptions are those of [Soak].
type SoakOptions struct {
	ProcessOptions
	// For is how long jobs come. Defaults to 20 minutes.
	For time.Duration
	// Rate of jobs a second. Defaults to half of what the node does at its best, measured at the beginning.
	Rate float64
	// Every is the time between two samples. Defaults to 10 s.
	Every time.Duration
}

const (
	soakTick = 100 * time.Millisecond
	// soakKeep is how long finished jobs stay: nobody wants a table that grows meanwhile.
	soakKeep = 30 * time.Second
	// soakWarm is the share of the samples, from the beginning, that no slope is drawn through.
	soakWarm = 0.2
)

// A SoakReport is what [Soak] measured.
type SoakReport struct {
	Seconds float64 `json:"seconds"`
	Rate    float64 `json:"rate"`
	// Capacity is what Rate is half of, in jobs a second; 0 where the rate was given.
	Capacity float64      `json:"capacity"`
	Jobs     int64        `json:"jobs"`
	Samples  []SoakSample `json:"samples"`
	// Slopes are changes an hour, of a straight line through the samples without the first fifth.
	Slopes SoakSample `json:"slopes_per_hour"`
}

// A SoakSample is the node at one moment.
type SoakSample struct {
	Seconds    float64 `json:"seconds"`
	RSSMiB     float64 `json:"rss_mib"`
	HeapMiB    float64 `json:"heap_mib"`
	Goroutines float64 `json:"goroutines"`
	Files      float64 `json:"files"`
	Sockets    float64 `json:"sockets"`
	// Behind is how many jobs were written and had not reached the backend.
	Behind float64 `json:"behind"`
	// Database is its process's memory.
	DatabaseMiB float64 `json:"database_rss_mib"`
}

func (o SoakOptions) withDefaults() (SoakOptions, error) {
	var err error
	o.ProcessOptions, err = o.ProcessOptions.withDefaults()
	if err == nil && (o.For < 0 || o.Rate < 0 || o.Every < 0) {
		err = errors.New("times and rates must not be negative")
	}
	if o.For == 0 {
		o.For = 20 * time.Minute
	}
	if o.Every == 0 {
		o.Every = 10 * time.Second
	}
	return o, err
}

// A soak is one run.
type soak struct {
	SoakOptions
	*ground
	backend *backend
	written int64
	report  SoakReport
}

// Soak lets jobs come at a steady rate for a long time and looks whether the node grows.
func Soak(ctx context.Context, o SoakOptions) (SoakReport, error) {
	o, err := o.withDefaults()
	if err != nil {
		return SoakReport{}, err
	}
	s := &soak{SoakOptions: o}
	err = onGround(ctx, o.DB, func(ctx context.Context, g *ground) (err error) {
		s.ground = g
		if s.backend, err = newBackend(); err != nil {
			return err
		}
		defer s.backend.close()
		return withChild(ctx, o.ProcessOptions, g.table, s.backend.url, s.run)
	})
	return s.report, err
}

func (s *soak) run(ctx context.Context, n *childNode) error {
	if err := s.pickRate(ctx); err != nil {
		return err
	}
	s.say(fmt.Sprintf("%.0f jobs a second for %s", s.Rate, s.For))
	s.report.Rate = s.Rate
	requests, started := s.backend.requests.Load(), time.Now()
	soaking, stop := context.WithCancel(ctx)
	defer stop()
	group, soaking := errgroup.WithContext(soaking)
	group.Go(func() error { return until(soaking, s.clean) })
	group.Go(func() error { defer stop(); return s.write(soaking, n, requests, started) })
	if err := group.Wait(); err != nil {
		return err
	}
	if err := s.untilDone(ctx, s.backend, requests+s.written, int(s.written)); err != nil {
		return err
	}
	s.report.Seconds, s.report.Jobs = time.Since(started).Seconds(), s.written
	s.report.Slopes = slopes(s.report.Samples)
	return nil
}

// until repeats do until ctx ends, which is no error.
func until(ctx context.Context, do func(context.Context) error) error {
	for {
		err := do(ctx)
		switch {
		case ctx.Err() != nil:
			return nil //nolint:nilerr // that is its end
		case err != nil:
			return err
		}
	}
}

// pickRate measures the capacity where no rate is given.
func (s *soak) pickRate(ctx context.Context) error {
	if s.Rate > 0 {
		return nil
	}
	s.say("capacity")
	const warm, count = 500, 5000
	var started time.Time
	for _, n := range []int{warm, count} {
		started = time.Now()
		if err := s.through(ctx, s.backend, n); err != nil {
			return err
		}
	}
	s.report.Capacity = count / time.Since(started).Seconds()
	s.Rate = s.report.Capacity / 2
	return nil
}

// write writes jobs, a few at each tick, and takes a sample now and then.
func (s *soak) write(ctx context.Context, n *childNode, requests int64, started time.Time) error {
	ticker := time.NewTicker(soakTick)
	defer ticker.Stop()
	sampled := started
	for time.Since(started) < s.For {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
		if want := int64(time.Since(started).Seconds()*s.Rate) - s.written; want > 0 {
			want = min(want, insertBatch)
			if err := s.insertOnce(ctx, int(want), nil); err != nil {
				return err
			}
			s.written += want
		}
		if time.Since(sampled) < s.Every {
			continue
		}
		sampled = time.Now()
		if err := s.sample(ctx, n, requests, sampled.Sub(started)); err != nil {
			return err
		}
	}
	return nil
}

func (s *soak) sample(ctx context.Context, n *childNode, requests int64, at time.Duration) error {
	status, err := n.ask(ctx, true)
	if err != nil {
		return err
	}
	use, err := measureProcess(n.cmd.Process.Pid)
	if err != nil {
		return err
	}
	one := SoakSample{
		Seconds: at.Seconds(), RSSMiB: mib(use.RSS), HeapMiB: mib(status.Heap), Goroutines: float64(status.Goroutines),
		Files: float64(use.Files), Sockets: float64(use.Sockets), Behind: float64(s.written - (s.backend.requests.Load() - requests)),
	}
	if s.DatabasePID != 0 {
		if use, err := measureProcess(s.DatabasePID); err == nil {
			one.DatabaseMiB = mib(use.RSS)
		}
	}
	s.report.Samples = append(s.report.Samples, one)
	return nil
}

// clean deletes finished jobs after a while, a portion at a time.
func (s *soak) clean(ctx context.Context) error {
	const portion = 500
	old, err := surreal.First[[]surreal.RecordID](ctx, s.client.Retrying(),
		"SELECT VALUE id FROM `"+s.table+"` WITH INDEX `idx_"+s.table+"_newest` WHERE listed = true AND newest >= $young LIMIT $n",
		map[string]any{"young": -time.Now().Add(-soakKeep).UnixMicro(), "n": portion})
	if err != nil {
		return err
	}
	if len(old) > 0 {
		if err := surreal.Exec(ctx, s.client.Retrying(), "DELETE $ids WHERE status = 'success' RETURN NONE", map[string]any{"ids": old}); err != nil {
			return err
		}
	}
	if len(old) == portion {
		return nil
	}
	return pause(ctx, 5*time.Second)
}

// slopes are those of a straight line through each of the samples' figures, an hour.
func slopes(samples []SoakSample) SoakSample {
	samples = samples[int(soakWarm*float64(len(samples))):]
	of := func(figure func(SoakSample) float64) float64 { return 3600 * slope(samples, figure) }
	return SoakSample{
		RSSMiB: of(func(s SoakSample) float64 { return s.RSSMiB }), HeapMiB: of(func(s SoakSample) float64 { return s.HeapMiB }),
		Goroutines: of(func(s SoakSample) float64 { return s.Goroutines }), Files: of(func(s SoakSample) float64 { return s.Files }),
		Sockets: of(func(s SoakSample) float64 { return s.Sockets }), Behind: of(func(s SoakSample) float64 { return s.Behind }),
		DatabaseMiB: of(func(s SoakSample) float64 { return s.DatabaseMiB }),
	}
}

// slope is that of the line with the least squares, a second.
func slope(samples []SoakSample, figure func(SoakSample) float64) float64 {
	var n, x, y, xx, xy float64
	for _, s := range samples {
		v := figure(s)
		n, x, y, xx, xy = n+1, x+s.Seconds, y+v, xx+s.Seconds*s.Seconds, xy+s.Seconds*v
	}
	if d := n*xx - x*x; d != 0 {
		return (n*xy - x*y) / d
	}
	return 0
}

// Write prints the report for people: a sample out of twenty or so, and the slopes.
func (r SoakReport) Write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	row := func(name string, s SoakSample) { // Flush tells
		_, _ = fmt.Fprintf(t, "%s\t%.1f\t%.1f\t%.0f\t%.0f\t%.0f\t%.0f\t%.0f\t\n", name, s.RSSMiB, s.HeapMiB, s.Goroutines, s.Files, s.Sockets, s.Behind, s.DatabaseMiB)
	}
	_, _ = fmt.Fprintln(t, "after\tRSS MiB\theap MiB\tgoroutines\topen files\tsockets\tjobs behind\tdatabase MiB\t")
	step := max(1, len(r.Samples)/20)
	for i := 0; i < len(r.Samples); i += step {
		row((time.Duration(r.Samples[i].Seconds) * time.Second).String(), r.Samples[i])
	}
	row("an hour", r.Slopes)
	if err := t.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%d jobs in %.0f s, %.0f a second; capacity %.0f; the last line is the slope an hour\n", r.Jobs, r.Seconds, r.Rate, r.Capacity)
	return err
}
