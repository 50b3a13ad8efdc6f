package bench

import (
	"errors"
	"io"
	"log/slog"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// Options of [Jobs].
type Options struct {
	// DB is the database to measure. Its namespace and database get a table of the bench's own,
	// which is removed at the end.
	DB surreal.Config
	// Count of jobs. Defaults to 5,000.
	Count int
	// Concurrency is the backend's slots. Defaults to 16, a backend's own default.
	Concurrency int
	// Inserters write at the same time. Defaults to 8.
	Inserters int
	// Batch is how many jobs one insert statement writes. Defaults to 10.
	Batch int
	// Rate is how many jobs a second the latency is measured at. Defaults to 20.
	Rate float64
	// Samples is how many jobs the latency is measured with. Defaults to 200.
	Samples int
	// Backlog puts this many jobs that are due tomorrow and as many finished ones into the table
	// before anything is measured.
	Backlog int
	// Partitions parts the jobs by that many values, of which each runs one job at a time. Defaults to none.
	Partitions int
	// Idle is how long the idle node is watched. Defaults to 10 s; negative leaves it out.
	Idle time.Duration
	// Progress is told what is being measured. Defaults to io.Discard.
	Progress io.Writer
	// Logger of the node under test. Defaults to one that discards.
	Logger *slog.Logger
}

func (o Options) withDefaults() (Options, error) {
	if o.Count < 0 || o.Concurrency < 0 || o.Inserters < 0 || o.Batch < 0 || o.Rate < 0 || o.Samples < 0 || o.Backlog < 0 || o.Partitions < 0 {
		return o, errors.New("counts and rates must not be negative")
	}
	positive := func(v *int, otherwise int) {
		if *v == 0 {
			*v = otherwise
		}
	}
	positive(&o.Count, 5000)
	positive(&o.Concurrency, 16)
	positive(&o.Inserters, 8)
	positive(&o.Batch, 10)
	positive(&o.Samples, 200)
	if o.Rate == 0 {
		o.Rate = 20
	}
	if o.Idle == 0 {
		o.Idle = 10 * time.Second
	}
	if o.Progress == nil {
		o.Progress = io.Discard
	}
	return o, nil
}
