package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

type describeFlags struct {
	output bool
	most   int
	json   bool
}

func newInstancesDescribeCommand(p *program) *cobra.Command {
	var f describeFlags
	cmd := &cobra.Command{
		Use:     "describe <workflow> [id]",
		Aliases: []string{"get", "show"},
		Short:   "Show an instance: its steps, their attempts, what they came to",
		Long: `Show an instance, by default the workflow's latest: its params and output, its
steps with their outputs, and the attempts of those that took more than one.`,
		Example: "  spky workflows instances describe INGEST\n" +
			"  spky workflows instances describe INGEST note-1 --json | jq '.steps[] | select(.error)'",
		Args:              takes(1, "the name of a workflow", "the id of an instance"),
		ValidArgsFunction: p.completeWorkflow(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.most < 0 {
				return usagef("--truncate-output-limit is %d; allowed: 0 and more", f.most)
			}
			return p.withDurable(cmd.Context(), func(d durable) error { return p.describeInstance(cmd.Context(), d, args, f) })
		},
	}
	cmd.Flags().BoolVar(&f.output, "step-output", true, "show what steps came to")
	cmd.Flags().IntVar(&f.most, "truncate-output-limit", 5000, "cut each output after so many bytes; not with --json")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (p *program) describeInstance(ctx context.Context, d durable, args []string, f describeFlags) error {
	i, err := instance(ctx, d, args)
	if err != nil {
		return err
	}
	steps, err := d.Steps(ctx, i.ID, i.Incarnation, f.output)
	if err != nil {
		return err
	}
	events, err := d.Events(ctx, i.ID, i.Incarnation)
	if err != nil {
		return err
	}
	if f.json {
		return render.JSON(p.out, struct {
			admin.Instance
			Steps  []admin.Step  `json:"steps"`
			Events []admin.Event `json:"events"`
		}{i, steps, events})
	}
	now, err := d.Now(ctx)
	if err != nil {
		return err
	}
	p.printInstance(i, steps, events, now, f)
	for _, s := range steps {
		if err := p.printStep(i, s, now, f); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) printInstance(i admin.Instance, steps []admin.Step, events []admin.Event, now time.Time, f describeFlags) {
	o := p.fields(20)
	o.text("Workflow", i.Binding)
	o.text("Instance", i.ID)
	o.styled("Status", o.style.Status(string(i.Status)))
	if !i.Live() || i.Error == nil {
		o.text("Does", doing(withoutError(i.Summary), now))
	}
	o.text("Owner", i.Owner)
	o.text("Backend", i.Backend)
	o.text("Version", i.Version)
	o.moment("Created", &i.CreatedAt)
	o.moment("Started", i.StartedAt)
	o.moment("Ended", i.FinishedAt)
	if i.StartedAt != nil {
		o.text("Duration", render.Span(until(i.FinishedAt, now).Sub(*i.StartedAt)))
	}
	o.text("Runs", fmt.Sprint(i.Runs))
	if i.Incarnation > 0 {
		o.text("Restarts", fmt.Sprint(i.Incarnation))
	}
	o.text("Steps done", fmt.Sprint(i.StepsDone))
	o.text("Last finished step", lastFinished(steps))
	if i.LeasedUntil != nil && i.LeasedUntil.After(now) {
		o.text("Held by a run", "until "+render.Age(*i.LeasedUntil, now)+", and on")
	}
	if i.Live() {
		o.text("Job", i.Job)
	}
	if i.Error != nil {
		o.styled("Error", o.style.Red(render.Printable(i.Error.Name+": "+i.Error.Message)))
		if i.Error.Stack != "" {
			o.styled("Stack", indented(i.Error.Stack, 21))
		}
	}
	if i.Warning != nil {
		o.styled("Warning", o.style.Yellow(render.Printable(i.Warning.Message)))
	}
	o.text("Events not yet taken", waitingEvents(events))
	o.json("Params", i.Params, f.most)
	o.json("Output", i.Output, f.most)
}

func withoutError(s admin.Summary) admin.Summary {
	s.Error = nil
	return s
}

// until is the end of what may still be under way.
func until(end *time.Time, now time.Time) time.Time {
	if end == nil {
		return now
	}
	return *end
}

func lastFinished(steps []admin.Step) string {
	var last admin.Step
	for _, s := range steps {
		if s.FinishedAt != nil && (last.FinishedAt == nil || !s.FinishedAt.Before(*last.FinishedAt)) {
			last = s
		}
	}
	return last.Label()
}

func waitingEvents(events []admin.Event) string {
	var types []string
	for _, e := range events {
		if !e.Consumed {
			types = append(types, e.Type)
		}
	}
	return joined(types)
}

func indented(text string, by int) string {
	return strings.ReplaceAll(printableLines(strings.TrimSpace(strings.ReplaceAll(text, "\t", "  "))), "\n", "\n"+strings.Repeat(" ", by))
}

func (p *program) printStep(of admin.Instance, s admin.Step, now time.Time, f describeFlags) error {
	o, state := p.fields(18), s.State(of.Status)
	if state == admin.CutOff {
		now = until(of.FinishedAt, now)
	}
	fmt.Fprintf(p.out, "\n%s\n", o.style.Bold(render.Printable(s.Label())))
	o.indent = "  "
	o.text("Type", s.Kind)
	o.styled("Status", o.style.Status(state))
	o.moment("Start", &s.StartedAt)
	o.moment("End", s.FinishedAt)
	o.text("Duration", render.Span(until(s.FinishedAt, now).Sub(s.StartedAt)))
	if state != admin.CutOff && !s.Done() {
		o.moment("Retries at", s.RetryAt)
		o.moment("Ends at the latest", s.WakeAt)
	}
	o.json("Output", s.Output, f.most)
	if s.OutputLeftOut {
		o.text("Output", "left out: those of the steps before it filled the answer")
	}
	if s.Error != nil {
		o.styled("Error", o.style.Red(render.Printable(s.Error.Name+": "+s.Error.Message)))
		if s.Error.Stack != "" {
			o.styled("Stack", indented(s.Error.Stack, 21))
		}
	}
	if s.Kind != "do" || len(s.Attempts) == 0 {
		return nil
	}
	if s.Tried() == 1 && failures(s) == 0 && s.Done() {
		o.text("Attempts", fmt.Sprintf("1 of %d", attempts(s)))
		return nil
	}
	if s.AttemptsBefore > 0 {
		o.text("Attempts", fmt.Sprintf("the last %d of %d", len(s.Attempts), s.Tried()))
	}
	table := attemptsTable(of, s, now)
	table.Paint(4, o.style.Status)
	return table.WriteIndented(p.out, o.style, "  ")
}

// attemptsTable lists the attempts of a step; what has no end lasts until now.
func attemptsTable(of admin.Instance, s admin.Step, now time.Time) *render.Table {
	table := render.NewTable("ATTEMPT", "START", "END", "DURATION", "STATE", "ERROR")
	for n, a := range s.Attempts {
		state, end, why := a.State(of.Status), "-", ""
		if state == "done" {
			state = "success"
		}
		if a.EndedAt != nil {
			end = clock(*a.EndedAt)
		}
		if a.Error != nil {
			why = a.Error.Name + ": " + a.Error.Message
		}
		table.Add(fmt.Sprintf("%d/%d", s.AttemptsBefore+n+1, attempts(s)), clock(a.StartedAt), end, render.Span(until(a.EndedAt, now).Sub(a.StartedAt)), state, render.Cut(why, 100))
	}
	return table
}

// attempts is how many a step has at most.
func attempts(s admin.Step) int {
	if s.Config == nil {
		return s.Tried()
	}
	return s.Config.Retries.Limit + 1
}

func clock(at time.Time) string { return at.Local().Format("15:04:05.000") }
