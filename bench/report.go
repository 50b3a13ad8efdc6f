package bench

import (
	"fmt"
	"io"
	"slices"
	"time"
)

// A Report is what one run of [Jobs] measured. Rates are per second, times are milliseconds.
type Report struct {
	Count       int `json:"count"`
	Concurrency int `json:"concurrency"`
	Inserters   int `json:"inserters"`
	Batch       int `json:"insert_batch"`
	Backlog     int `json:"backlog"`

	// Throughput is jobs from the first insert to the last success.
	Throughput float64 `json:"jobs_per_second"`
	// Ceiling is the same rows claimed and completed by a bare loop of batched statements.
	Ceiling        float64 `json:"ceiling_per_second"`
	OfCeiling      float64 `json:"of_ceiling"`
	Inserts        float64 `json:"inserts_per_second"`
	Requests       int64   `json:"requests"`
	SlotsUsedPeak  int64   `json:"slots_used_peak"`
	DrainPerSecond float64 `json:"drain_per_second"`

	Rate float64 `json:"rate"`
	// Latency is from just before the insert until the backend has the request.
	Latency Spread `json:"latency_ms"`
	// LatencyLegs are the parts of Latency.
	LatencyLegs []Leg `json:"latency_legs"`
	// Live is from just before an insert until a bare LIVE SELECT reports it.
	Live   Spread  `json:"bare_live_ms"`
	OfLive float64 `json:"of_bare_live"`

	IdleSeconds    float64 `json:"idle_seconds"`
	IdleStatements float64 `json:"idle_statements_per_second"`
	HeapMiB        float64 `json:"heap_mib"`
}

// A Spread is what some measurements of one kind came to, in milliseconds.
type Spread struct {
	N   int     `json:"n"`
	P50 float64 `json:"p50"`
	P90 float64 `json:"p90"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

func spread(times []time.Duration) Spread {
	if len(times) == 0 {
		return Spread{}
	}
	slices.Sort(times)
	at := func(share float64) float64 {
		i := min(int(share*float64(len(times))), len(times)-1)
		return float64(times[i].Microseconds()) / 1000
	}
	return Spread{N: len(times), P50: at(.5), P90: at(.9), P99: at(.99), Max: at(1)}
}

// Write prints the report for people.
func (r Report) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `jobs          %d, %d slots, %d inserters, %d jobs an insert, backlog %d
throughput    %.0f jobs/s, insert to success (inserts alone %.0f/s)
ceiling       %.0f jobs/s, bare batched claim and complete; throughput is %.2f of it
drain         %.0f jobs/s, a backlog of the same size
latency       p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms, insert to request, %d jobs at %.0f/s
of that       %s ms
bare LIVE     p50 %.2f  p90 %.2f  p99 %.2f  max %.2f ms; latency p50 is %.2f of it
idle          %.2f statements/s over %.0f s
heap          %.1f MiB after the run
`,
		r.Count, r.Concurrency, r.Inserters, r.Batch, r.Backlog,
		r.Throughput, r.Inserts, r.Ceiling, r.OfCeiling, r.DrainPerSecond,
		r.Latency.P50, r.Latency.P90, r.Latency.P99, r.Latency.Max, r.Latency.N, r.Rate, legLine(r.LatencyLegs),
		r.Live.P50, r.Live.P90, r.Live.P99, r.Live.Max, r.OfLive,
		r.IdleStatements, r.IdleSeconds, r.HeapMiB)
	return err
}
