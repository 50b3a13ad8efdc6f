package dashboard

import (
	"context"
	"encoding/json"
	"reflect"
	"slices"
	"sync"
	"time"

	"sp00ky.cloud/spky/admin"
)

const (
	// maxPoints is how many points a chart has, and pointGap their least distance: whoever looks at the
	// overview makes points beside those that are taken anyway.
	maxPoints = 720
	pointGap  = 2 * time.Second
	// hoursFresh is how long what finished in the last hours counts without being asked for again, at least: an
	// answer that took long counts for hoursShare times as long as it took.
	hoursFresh = 5 * time.Second
	hoursShare = 50
)

// A point is how everything was at a moment.
type point struct {
	at                       time.Time
	pending, due, processing int
	oldest                   float64 // seconds
	attempts, failures       int     // of about the last minute
	p50, p99                 float64 // of the slowest backend, in milliseconds
}

// history is what the overview's charts are made of, in memory.
type history struct {
	mu     sync.Mutex
	points []point
	last   admin.Overview
	// backends are those of last, taken is when, by our clock.
	backends []admin.Backend
	taken    time.Time
	hours    admin.Analytics
	asked    time.Time // for hours
	cost     time.Duration
	// changed is closed, and replaced, when something else is counted than before.
	changed chan struct{}
}

// news is closed when something else is counted than now.
func (h *history) news() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed
}

// tell says that something else is counted; the lock is held.
func (h *history) tell() {
	close(h.changed)
	h.changed = make(chan struct{})
}

// sample notes how everything is, unless that has just been done. A database that is away leaves a gap.
func (d *Dashboard) sample(ctx context.Context) {
	if d.history.fresh() {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	if _, _, err := d.look(ctx); err != nil && ctx.Err() == nil {
		d.log.Debug("no sample for the overview", "error", err)
	}
}

// resample notes how everything is now that something has changed, at the earliest when the newest point is old
// enough for another one, and once for all who want it.
func (d *Dashboard) resample(ctx context.Context) {
	asked := time.Now()
	d.sampling.Lock()
	defer d.sampling.Unlock()
	taken := d.history.newestTaken()
	if taken.After(asked) {
		return
	}
	due := time.NewTimer(time.Until(taken.Add(pointGap)))
	defer due.Stop()
	select {
	case <-due.C:
	case <-ctx.Done():
		return
	}
	d.sample(ctx)
	d.looked()
}

func (h *history) newestTaken() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.taken
}

// fresh says whether the newest point is as good as another one.
func (h *history) fresh() bool { return time.Since(h.newestTaken()) < pointGap*9/10 }

// look reads how everything is, and notes it.
func (d *Dashboard) look(ctx context.Context) (admin.Overview, []admin.Backend, error) {
	asked := time.Now()
	o, err := d.cfg.Cluster.Overview(ctx)
	if err != nil {
		return o, nil, err
	}
	backends, err := d.cfg.Cluster.Backends(ctx)
	if err != nil {
		return o, nil, err
	}
	d.skew.Store(int64(o.Now.Sub(asked)))
	d.history.add(o, backends)
	return o, backends, nil
}

func (h *history) add(o admin.Overview, backends []admin.Backend) {
	p := point{
		at: o.Now, pending: o.Jobs.Pending, due: o.Jobs.Due, processing: o.Jobs.Processing, attempts: o.Attempts, failures: o.Failures,
	}
	if o.Jobs.OldestDue != nil {
		p.oldest = max(0, o.Now.Sub(*o.Jobs.OldestDue).Seconds())
	}
	for _, b := range backends {
		p.p50, p.p99 = max(p.p50, b.P50MS), max(p.p99, b.P99MS)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if !reflect.DeepEqual(o.Jobs, h.last.Jobs) || o.Instances != h.last.Instances {
		h.tell()
	}
	h.last, h.backends, h.taken = o, backends, time.Now()
	if n := len(h.points); n > 0 && p.at.Sub(h.points[n-1].at) < pointGap/2 {
		return
	}
	h.points = append(h.points, p)
	if len(h.points) > maxPoints {
		h.points = slices.Delete(h.points, 0, len(h.points)-maxPoints)
	}
}

// overview is the newest that is known; false where nothing is.
func (h *history) overview() (admin.Overview, bool) {
	o, _, known := h.newest()
	return o, known
}

func (h *history) newest() (admin.Overview, []admin.Backend, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last, h.backends, !h.last.Now.IsZero()
}

// finished reads what finished in the last hours, where that is not fresh. Beside many rows it takes seconds: no
// page waits for it.
func (d *Dashboard) finished(ctx context.Context) {
	h := &d.history
	h.mu.Lock()
	fresh := time.Since(h.asked) < max(hoursFresh, hoursShare*h.cost)
	h.mu.Unlock()
	if fresh {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, d.cfg.Timeout)
	defer cancel()
	begun := time.Now()
	hours, err := d.cfg.Cluster.Analytics(ctx, 0)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked, h.cost = time.Now(), time.Since(begun)
	if err != nil {
		d.log.Debug("no analytics for the overview", "error", err)
		return
	}
	if !reflect.DeepEqual(hours.Hours, h.hours.Hours) {
		h.tell()
	}
	h.hours = hours
}

// A chart is one small chart: Points is its data, as JSON for a script, Latest what it says now.
type chart struct {
	Title, Unit, Latest string
	Kind                string // line or bars
	Points              string
	Series              []series
}

// A series is one line of a chart.
type series struct {
	Label  string    `json:"label"`
	Tone   string    `json:"tone"`
	Values []float64 `json:"values"`
}

// charts are those of the overview.
func (h *history) charts() []chart {
	h.mu.Lock()
	points, hours := slices.Clone(h.points), h.hours
	h.mu.Unlock()
	times := make([]int64, len(points))
	for i, p := range points {
		times[i] = p.at.Unix()
	}
	line := func(title, unit, latest string, all ...series) chart {
		return chart{Title: title, Unit: unit, Latest: latest, Kind: "line", Points: asPoints(times, all), Series: all}
	}
	of := func(label, tone string, value func(point) float64) series {
		s := series{Label: label, Tone: tone, Values: make([]float64, len(points))}
		for i, p := range points {
			s.Values[i] = value(p)
		}
		return s
	}
	var now point
	if len(points) > 0 {
		now = points[len(points)-1]
	}
	return []chart{
		line("Throughput", "attempts a minute", count(now.attempts, 1<<30)+" a minute",
			of("attempts", "accent", func(p point) float64 { return float64(p.attempts) }), of("failures", "bad", func(p point) float64 { return float64(p.failures) })),
		line("Queue", "jobs", count(now.pending, admin.MaxCounted)+" pending", of("pending", "wait", func(p point) float64 { return float64(p.pending) }),
			of("due", "bad", func(p point) float64 { return float64(p.due) }), of("running", "accent", func(p point) float64 { return float64(p.processing) })),
		line("Oldest due job", "s", span(time.Duration(now.oldest*float64(time.Second))), of("age", "wait", func(p point) float64 { return p.oldest })),
		line("Latency of attempts", "ms", "p99 "+span(time.Duration(now.p99*float64(time.Millisecond))),
			of("p50", "accent", func(p point) float64 { return p.p50 }), of("p99", "wait", func(p point) float64 { return p.p99 })),
		hourly(hours),
	}
}

// hourly is the chart of what finished, hour by hour.
func hourly(a admin.Analytics) chart {
	var times []int64
	done, failed := series{Label: "done", Tone: "good", Values: []float64{}}, series{Label: "failed", Tone: "bad", Values: []float64{}}
	cancelled := series{Label: "cancelled", Tone: "off", Values: []float64{}}
	var all int64
	for at := a.Since; !a.Since.IsZero() && !at.After(a.Until); at = at.Add(time.Hour) {
		var good, bad, ended int64
		for _, hour := range a.Hours {
			if hour.Hour.Equal(at) && hour.Scope != "dag" { // whose steps count as jobs
				good += hour.Success
				bad += hour.Failed
				ended += hour.Cancelled
			}
		}
		all += good + bad + ended
		times = append(times, at.Unix())
		done.Values, failed.Values, cancelled.Values = append(done.Values, float64(good)), append(failed.Values, float64(bad)), append(cancelled.Values, float64(ended))
	}
	return chart{
		Title: "Finished by the hour", Unit: "jobs and instances", Kind: "bars", Latest: count(int(all), 1<<30) + " in 24 h", Points: asPoints(times, []series{done, failed, cancelled}),
		Series: []series{done, failed, cancelled},
	}
}

func asPoints(times []int64, all []series) string {
	if times == nil {
		times = []int64{}
	}
	text, err := json.Marshal(struct {
		Times  []int64  `json:"times"`
		Series []series `json:"series"`
	}{times, all})
	if err != nil { // a number that JSON has not
		return "{}"
	}
	return string(text)
}
