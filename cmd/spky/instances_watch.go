package main

import (
	"context"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/wf"
)

func newInstancesWatchCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "watch <workflow> [id]",
		Aliases: []string{"follow"},
		Short:   "Watch an instance until it ends",
		Long: `Watch an instance, by default the workflow's latest, until it ends: its steps as
they finish, and on a terminal a bar. It moves by LIVE SELECT. How many steps
there will be is not known; the bar goes by the workflow's last complete instance.

The exit code is 0 when it completes, 1 when it fails or is terminated.`,
		Example:           "  spky workflows instances watch INGEST\n  spky workflows instances watch INGEST note-1 --json",
		Args:              takes(1, "the name of a workflow", "the id of an instance"),
		ValidArgsFunction: p.completeWorkflow(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDurable(cmd.Context(), func(d durable) error {
				i, err := instance(cmd.Context(), d, args)
				if err != nil {
					return err
				}
				return p.watchInstance(cmd.Context(), d, i.Binding, i.ID, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// watchInstance shows an instance until it ends.
func (p *program) watchInstance(ctx context.Context, d durable, binding, id string, asJSON bool) error {
	w := &instanceWatcher{p: p, json: asJSON, style: render.StyleFor(p.out, p.env), live: render.IsTerminal(p.out) && !asJSON}
	if w.live {
		var err error
		if w.expected, err = d.Expected(ctx, binding); err != nil {
			return err
		}
	}
	end, err := d.Watch(ctx, id, w.tell)
	if w.live {
		fmt.Fprintln(p.out)
	}
	switch {
	case err != nil:
		return err
	case end.Instance.Status != wf.Complete:
		return errFindings
	}
	return nil
}

// An instanceWatcher prints what happens to an instance.
type instanceWatcher struct {
	p     *program
	style render.Style
	json  bool
	// live redraws the last line, as a terminal allows.
	live     bool
	expected int
	before   string
}

// A progressLine is a change as one line of JSON.
type progressLine struct {
	At time.Time `json:"at"`
	admin.Progress
}

func (w *instanceWatcher) tell(progress admin.Progress) error {
	at := time.Now()
	if w.json {
		return render.JSONLine(w.p.out, progressLine{at.UTC(), progress})
	}
	var b strings.Builder
	if w.live {
		b.WriteString("\r\x1b[K")
	}
	for _, s := range progress.Changed {
		if line := w.step(s, progress.Instance.Status); line != "" && (s.Done() || !w.live) {
			fmt.Fprintf(&b, "%s  %s\n", w.style.Dim(clock(at)), line)
		}
	}
	line := w.status(progress.Instance)
	switch {
	case w.live:
		b.WriteString(bar(progress.Instance, w.expected) + " " + line)
	case line != w.before:
		fmt.Fprintf(&b, "%s  %s\n", w.style.Dim(clock(at)), line)
		w.before = line
	}
	_, err := fmt.Fprint(w.p.out, b.String())
	return err
}

// step is a step in a line, of an instance in a state.
func (w *instanceWatcher) step(s admin.Step, of wf.Status) string {
	name := render.Printable(s.Label())
	var took time.Duration
	if s.FinishedAt != nil {
		took = s.FinishedAt.Sub(s.StartedAt)
	}
	failed := ""
	if n := failures(s); n > 0 {
		failed = fmt.Sprintf(" after %s", count(n, "failed attempt", "failed attempts"))
	}
	switch s.State(of) {
	case admin.CutOff:
		return fmt.Sprintf("%s %s %s", w.style.Dim("○"), name, admin.CutOff)
	case "complete":
		return fmt.Sprintf("%s %s %s%s", w.style.Green("✔"), name, w.style.Dim(render.Span(took)), failed)
	case "errored":
		return fmt.Sprintf("%s %s %s%s", w.style.Red("✖"), name, w.style.Red(render.Printable(message(s.Error))), failed)
	case "retrying":
		return fmt.Sprintf("%s %s %s", w.style.Yellow("◐"), name, render.Printable("failed: "+message(lastError(s))))
	}
	return fmt.Sprintf("%s %s %s", w.style.Cyan("◐"), name, s.Status)
}

func failures(s admin.Step) int {
	n := s.AttemptsBefore
	for _, a := range s.Attempts {
		if a.Error != nil {
			n++
		}
	}
	return n
}

func lastError(s admin.Step) *admin.Error {
	if len(s.Attempts) == 0 {
		return nil
	}
	return s.Attempts[len(s.Attempts)-1].Error
}

func message(e *admin.Error) string {
	if e == nil {
		return ""
	}
	return e.Message
}

// status is the instance in a line.
func (w *instanceWatcher) status(i admin.Summary) string {
	text := w.style.Status(string(i.Status)) + "  " + count(i.StepsDone, "step done", "steps done")
	what := ""
	switch {
	case i.Error != nil && !i.Live():
		what = i.Error.Message
	case i.Stalled():
		what = "stalled: tried again by itself"
	case i.WaitingFor != nil && i.WaitingFor.Kind != "pause":
		what = i.WaitingFor.Kind + " " + i.WaitingFor.Name
		if len(i.WaitingFor.Types) > 0 {
			what = "event " + strings.Join(i.WaitingFor.Types, " or ")
		}
		if i.WakeAt != nil {
			what += ", until " + i.WakeAt.Local().Format("2006-01-02 15:04:05")
		}
	case i.PauseRequested != nil:
		what = "pauses after " + i.CurrentStep
	case i.CurrentStep != "":
		what = i.CurrentStep
	}
	if what == "" {
		return text
	}
	return text + "  " + render.Cut(render.Printable(what), 70)
}

// barWidth is how many characters a bar has.
const barWidth = 24

// bar shows how far an instance has come, going by how many steps one like it had; "" where that is
// not known. It is full only at the end.
func bar(i admin.Summary, expected int) string {
	full := 0
	switch {
	case i.Status == wf.Complete:
		full = barWidth
	case expected <= 0:
		return strings.Repeat("·", barWidth)
	default:
		part := float64(i.StepsDone) / float64(expected)
		full = min(int(math.Floor(part*barWidth)), barWidth-1)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", barWidth-full)
}
