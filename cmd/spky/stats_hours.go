package main

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

// showAnalytics tells what finished in the last hours.
func (p *program) showAnalytics(ctx context.Context, hours int, asJSON bool) error {
	if hours < 1 || hours > admin.MaxHours {
		return usagef("--hours is %d; allowed: 1 to %d", hours, admin.MaxHours)
	}
	return p.withJobs(ctx, "", anyTables, func(d *desk) error {
		a, err := d.cluster.Analytics(ctx, hours)
		if err != nil {
			return err
		}
		if asJSON {
			return render.JSON(p.out, a)
		}
		return p.printAnalytics(a)
	})
}

func (p *program) printAnalytics(a admin.Analytics) error {
	fmt.Fprintf(p.out, "since %s\n\n", a.Since.Format(time.RFC3339))
	table := render.NewTable("SCOPE", "OF", "NAME", "SUCCESS", "FAILED", "CANCELLED", "MEAN", "TOTAL")
	for _, w := range a.Totals {
		total := time.Duration(w.WallMS) * time.Millisecond
		mean := total / time.Duration(max(1, w.Success+w.Failed+w.Cancelled))
		table.Add(w.Scope, w.Of, w.Name, fmt.Sprint(w.Success), fmt.Sprint(w.Failed), fmt.Sprint(w.Cancelled), render.Span(mean), render.Span(total))
	}
	if err := table.Write(p.out, render.StyleFor(p.out, p.env)); err != nil {
		return err
	}
	if a.Partial {
		fmt.Fprintf(p.out, "\nThe earliest hours lack some: of what retention has not deleted yet, the newest 10,000 of each\ntable or workflow and state are counted.\n")
	}
	return nil
}
