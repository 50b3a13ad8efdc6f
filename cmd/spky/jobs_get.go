package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

// maxShown bounds what is shown to people of one value, in bytes.
const maxShown = 64 << 10

func newJobsGetCommand(p *program) *cobra.Command {
	var table string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "get <id>",
		Aliases: []string{"show"},
		Short:   "Show a job with its payload, result and errors",
		Long:    "Show a job with everything its row holds.\n\n" + jobIDHelp,
		Example: "  spky jobs get job:ab12\n  spky jobs get ab12 --json | jq .result",
		Args:    takes(1, "the id of a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.each(cmd.Context(), table, args, func(d *desk, id string) error {
				job, err := d.jobs.Get(cmd.Context(), id)
				if err != nil {
					return err
				}
				return p.showJob(job, asJSON)
			})
		},
	}
	p.tableFlag(cmd, &table)
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) showJob(job admin.Job, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, job)
	}
	p.printJob(job)
	return nil
}

// printJob writes a column a line: the ones everybody looks for first.
func (p *program) printJob(job admin.Job) {
	f := p.fields(15)
	f.text("id", job.ID)
	f.styled("status", f.style.Status(render.Printable(string(job.Status))))
	f.text("path", job.Path)
	f.text("backend", job.Backend)
	f.text("instance", job.Instance)
	f.line("retries", fmt.Sprint(job.Retries))
	f.line("max_retries", fmt.Sprint(job.MaxRetries))
	f.text("retry_strategy", job.RetryStrategy)
	for _, at := range []struct {
		name string
		at   *time.Time
	}{
		{"created_at", job.CreatedAt},
		{"updated_at", job.UpdatedAt},
		{"run_at", job.RunAt},
		{"lease_until", job.LeaseUntil},
		{"cancel_requested", job.CancelRequested},
	} {
		if at.at != nil {
			f.line(at.name, at.at.UTC().Format(time.RFC3339Nano))
		}
	}
	f.text("assignee", job.Assignee)
	for name, n := range map[string]int64{"delay": job.Delay, "timeout": job.Timeout} {
		if n != 0 {
			f.line(name, fmt.Sprint(n))
		}
	}
	f.text("assigned_to", job.AssignedTo)
	for _, name := range slices.Sorted(maps.Keys(job.Columns)) {
		p.value(f, name, job.Columns[name])
	}
	p.value(f, "payload", job.Payload)
	p.value(f, "result", job.Result)
	if len(job.Errors) > 0 {
		text, err := json.Marshal(job.Errors)
		if err == nil { // errors are made of what has a form
			f.json("errors", text, maxShown)
		}
	}
}

// value writes a value for people: texts without quotes, the rest as JSON.
func (p *program) value(f *fields, name string, value json.RawMessage) {
	var text string
	if json.Unmarshal(value, &text) == nil && string(value) != "null" {
		if len(text) > maxShown {
			text = strings.ToValidUTF8(text[:maxShown], "") + "…"
		}
		f.line(render.Printable(name), render.Printable(text))
		return
	}
	f.json(render.Printable(name), value, maxShown)
}
