package devdb_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// BenchmarkCreate is a one-row transaction through the bridge, with a LIVE SELECT on the table and without.
func BenchmarkCreate(b *testing.B) {
	for _, live := range []bool{false, true} {
		for _, clients := range []int{1, 32, 128} {
			b.Run(fmt.Sprintf("live=%v/clients=%d", live, clients), func(b *testing.B) { benchmarkCreate(b, live, clients) })
		}
	}
}

func benchmarkCreate(b *testing.B, live bool, clients int) {
	target := devdbtest.Fresh(b)
	c := signedIn(b, target)
	c.query(nil, "DEFINE TABLE t")
	if live {
		l := signedIn(b, target)
		l.query(nil, "LIVE SELECT * FROM t")
		go func() {
			for {
				select {
				case <-l.notes:
				case <-l.ended:
					return
				}
			}
		}()
	}
	work := make(chan struct{})
	var wg sync.WaitGroup
	for range clients {
		wg.Go(func() {
			for range work {
				c.query(nil, "CREATE t SET n = $n, text = 'some text'", map[string]any{"n": 1})
			}
		})
	}
	b.ResetTimer()
	for range b.N {
		work <- struct{}{}
	}
	close(work)
	wg.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "statements/s")
}

// BenchmarkLive is the time from sending a CREATE to the arrival of its notification on another connection.
func BenchmarkLive(b *testing.B) {
	target := devdbtest.Fresh(b)
	c, l := signedIn(b, target), signedIn(b, target)
	c.query(nil, "DEFINE TABLE t")
	l.query(nil, "LIVE SELECT * FROM t")
	took := make([]time.Duration, 0, b.N)
	for b.Loop() {
		start := time.Now()
		if _, err := c.start(request{Method: "query", Params: []any{"CREATE t SET n = 1"}}); err != nil {
			b.Fatal(err)
		}
		l.next()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
}
