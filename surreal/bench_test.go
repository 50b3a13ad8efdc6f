package surreal

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
)

func BenchmarkQuery(b *testing.B) {
	c := open(b)
	ctx := context.Background()
	vars := map[string]any{"id": RecordID{Table: "job", ID: "01j0000000000000000000000"}, "now": time.Unix(1700000000, 1)}
	one := func(b *testing.B) {
		if _, err := c.Query(ctx, "RETURN $id", vars); err != nil {
			b.Error(err)
		}
	}
	b.Run("sequential", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			one(b)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.ReportAllocs()
		b.SetParallelism(16)
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				one(b)
			}
		})
	})
}

// BenchmarkTransport is a call without a database: a fake server answers at once.
func BenchmarkTransport(b *testing.B) {
	answer, err := Marshal(rows(1))
	if err != nil {
		b.Fatal(err)
	}
	c := connect(b, fakeTB(b, func(ws *fakeSocket, id uint64, _ string) {
		ws.sendAnswer(id, answer)
	}))
	ctx := context.Background()
	for _, callers := range []int{1, 32} {
		b.Run(fmt.Sprintf("callers=%d", callers), func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(max(1, callers/2))
			if callers == 1 {
				for b.Loop() {
					if _, err := c.Query(ctx, "RETURN 1", nil); err != nil {
						b.Fatal(err)
					}
				}
				return
			}
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					if _, err := c.Query(ctx, "RETURN 1", nil); err != nil {
						b.Error(err)
					}
				}
			})
		})
	}
}

// jobRow is about what a queue reads and writes.
type jobRow struct {
	ID       RecordID       `json:"id"`
	Name     string         `json:"name"`
	Status   string         `json:"status"`
	RunAt    time.Time      `json:"run_at"`
	Attempts int            `json:"attempts"`
	Lease    UUID           `json:"lease"`
	Payload  map[string]any `json:"payload"`
}

func benchRows(n int) []jobRow {
	list := make([]jobRow, n)
	for i := range list {
		list[i] = jobRow{
			ID: RecordID{Table: "job", ID: fmt.Sprint("01j000000000000000000", i)}, Name: "mail", Status: "running", RunAt: time.Unix(1700000000, 1),
			Attempts: 1, Payload: map[string]any{"to": "a@example.com", "n": 5},
		}
	}
	return list
}

func BenchmarkEncode(b *testing.B) {
	vars := map[string]any{"rows": benchRows(50), "now": time.Now()}
	e := encoder{fields: new(fieldCache)}
	b.ReportAllocs()
	for b.Loop() {
		e.out = e.out[:0]
		if err := e.value(vars, requestDepth); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(e.out)))
}

func BenchmarkDecode(b *testing.B) {
	fields := new(fieldCache)
	raw, err := Marshal(benchRows(50))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("structs", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			var list []jobRow
			if err := unmarshal(raw, &list, fields); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("any", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			var list any
			if err := unmarshal(raw, &list, fields); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("skip", func(b *testing.B) {
		b.SetBytes(int64(len(raw)))
		for b.Loop() {
			c := cursor{data: raw}
			if err := c.skip(answerDepth); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkLiveEvents(b *testing.B) {
	raw, err := Marshal(map[string]any{"id": UUID{}, "action": "UPDATE", "record": RecordID{Table: "job", ID: "a"}, "result": benchRows(1)[0]})
	if err != nil {
		b.Fatal(err)
	}
	table := feedTable{lives: map[[16]byte]*Live{}}
	live := newLive(nil, 0)
	table.lives[live.id] = live
	var taken atomic.Int64
	b.ReportAllocs()
	for b.Loop() {
		note, err := parseNotification(raw)
		if err != nil {
			b.Fatal(err)
		}
		table.publish(note)
		if taken.Add(1)%1000 == 0 {
			live.Take()
		}
	}
}
