package bench

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

//go:embed surql/sleeping.surql
var sleepingRows string

// SleepingOptions are those of [Sleeping].
type SleepingOptions struct {
	ProcessOptions
	// Instances that sleep. Defaults to 100,000.
	Instances int
	// Watch is how long the node is looked at, without them and with them. Defaults to 5 s.
	Watch time.Duration
}

// A SleepingReport is what [Sleeping] measured.
type SleepingReport struct {
	Instances int `json:"instances"`
	// Without is a node beside no instance, With beside all of them.
	Without Quiet `json:"without"`
	With    Quiet `json:"with"`
	// GrowthMiB is what the node's memory differs by.
	GrowthMiB float64 `json:"growth_mib"`
}

// Sleeping measures what instances that sleep cost a node.
func Sleeping(ctx context.Context, o SleepingOptions) (SleepingReport, error) {
	var err error
	if o.ProcessOptions, err = o.ProcessOptions.withDefaults(); err != nil {
		return SleepingReport{}, err
	}
	if o.Instances < 0 || o.Watch < 0 {
		return SleepingReport{}, errors.New("counts must not be negative")
	}
	if o.Instances == 0 {
		o.Instances = 100_000
	}
	if o.Watch == 0 {
		o.Watch = 5 * time.Second
	}
	report := SleepingReport{Instances: o.Instances}
	err = onGround(ctx, o.DB, func(ctx context.Context, g *ground) error { return o.measure(ctx, g, &report) })
	report.GrowthMiB = report.With.RSSMiB - report.Without.RSSMiB
	return report, err
}

func (o SleepingOptions) measure(ctx context.Context, g *ground, report *SleepingReport) (err error) {
	backend, err := newBackend()
	if err != nil {
		return err
	}
	defer backend.close()
	look := func(into *Quiet) error {
		return withChild(ctx, o.ProcessOptions, g.table, backend.url, func(ctx context.Context, n *childNode) (err error) {
			*into, err = n.watch(ctx, o.Watch)
			return err
		})
	}
	o.say("a node beside no instance")
	if err := look(&report.Without); err != nil {
		return err
	}
	o.say(fmt.Sprintf("writing %d instances that sleep", o.Instances))
	defer func() { err = errors.Join(err, g.cleanInstances(ctx)) }()
	if err := g.sleep(ctx, o.Instances); err != nil {
		return err
	}
	o.say("a node beside them")
	if err := look(&report.With); err != nil {
		return err
	}
	if n := backend.requests.Load(); n > 0 {
		return fmt.Errorf("%d requests while all instances should have slept", n)
	}
	return nil
}

// sleep writes instances that sleep until tomorrow.
func (g *ground) sleep(ctx context.Context, count int) error {
	text := strings.ReplaceAll(sleepingRows, "{{table}}", g.table)
	for from := 0; from < count; from += insertBatch {
		ids := make([]string, min(insertBatch, count-from))
		for i := range ids {
			ids[i] = fmt.Sprintf("%s-%d", g.table, from+i)
		}
		vars := map[string]any{"ids": ids, "table": g.table, "at": time.Now().Add(24 * time.Hour)}
		if err := surreal.Exec(ctx, g.client.Retrying(), text, vars); err != nil {
			return fmt.Errorf("write instances that sleep: %w", err)
		}
	}
	return nil
}

// cleanInstances forgets them: a range of ids, in portions that a transaction can hold.
func (g *ground) cleanInstances(ctx context.Context) error {
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Minute)
	defer cancel()
	const some = "DELETE (SELECT VALUE id FROM _00_wf_instance WHERE id >= type::record('_00_wf_instance', $table) AND id < type::record('_00_wf_instance', $table + '.') LIMIT 5000) RETURN VALUE id"
	for {
		gone, err := surreal.First[[]surreal.RecordID](end, g.client.Retrying(), some, map[string]any{"table": g.table})
		if err != nil || len(gone) == 0 {
			return err
		}
	}
}

// Write prints the report for people.
func (r SleepingReport) Write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `instances     %d that sleep
without       %.1f MiB RSS, %.1f MiB heap, %.1f %% CPU of the node, %.1f %% of the database, %.1f statements/s
with          %.1f MiB RSS, %.1f MiB heap, %.1f %% CPU of the node, %.1f %% of the database, %.1f statements/s
growth        %.1f MiB RSS
`, r.Instances, r.Without.RSSMiB, r.Without.HeapMiB, r.Without.NodeCPU, r.Without.DatabaseCPU, r.Without.Statements,
		r.With.RSSMiB, r.With.HeapMiB, r.With.NodeCPU, r.With.DatabaseCPU, r.With.Statements, r.GrowthMiB)
	return err
}
