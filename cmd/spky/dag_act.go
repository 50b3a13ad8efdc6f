package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

func newDAGActCommands(p *program) []*cobra.Command {
	return []*cobra.Command{
		p.newDAGTriggerCommand(),
		p.runVerb("cancel", "End a run: nothing more of it begins, and its jobs are asked to end", `End a run: nothing more of it begins, and its jobs are asked to end. Once they
have, it is killed; spky dag retry goes on with it.`, func(cmd *cobra.Command, d dagOps, id string) error {
			was, err := d.Cancel(cmd.Context(), id)
			if err == nil {
				fmt.Fprintf(p.out, "cancelled %s (was %s)\n", id, was)
			}
			return err
		}),
		p.runVerb("retry", "Go on with a run that failed or was cancelled, from the steps that did not succeed", `Go on with a run that failed or was cancelled: the steps that did not succeed
begin anew, with new jobs; the others are kept. The steps are those that the
configuration had when the run started; spky dag rerun takes those it has now.`, func(cmd *cobra.Command, d dagOps, id string) error {
			done, err := d.Retry(cmd.Context(), id)
			if err == nil {
				fmt.Fprintf(p.out, "retried %s (was %s): %d steps begin anew, %d are kept\n", id, done.Was, done.Reset, done.Kept)
			}
			return err
		}),
		p.runVerb("rerun", "Start a new run with the input of another", `Start a new run with the input of another, from its first step, and with the steps
that the configuration has now.`, func(cmd *cobra.Command, d dagOps, id string) error {
			run, err := d.Rerun(cmd.Context(), id)
			if err == nil {
				fmt.Fprintln(p.out, "started "+run)
			}
			return err
		}),
	}
}

// runVerb is a command on one run.
func (p *program) runVerb(name, short, long string, do func(*cobra.Command, dagOps, string) error) *cobra.Command {
	return &cobra.Command{
		Use:   name + " <run>",
		Short: short,
		Long: long + `

Where the run's state does not allow it the exit code is 4.`,
		Example: "  spky dag " + name + " nightly-20260301T020000Z",
		Args:    takes(1, "a run"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDAGs(cmd.Context(), func(d dagOps) error { return do(cmd, d, args[0]) })
		},
	}
}

func (p *program) newDAGTriggerCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "trigger <name>",
		Aliases: []string{"run"},
		Short:   "Start a run of a DAG now",
		Long: `Start a run of a DAG now, or one for each row of its forEach, also while it is
paused. Its ticks stay as they are.

Where its concurrency lets nothing start beside what runs, the exit code is 4.`,
		Example:           "  spky dag trigger nightly",
		Args:              takes(1, "the name of a DAG"),
		ValidArgsFunction: p.completeDAG,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDAGs(cmd.Context(), func(d dagOps) error {
				started, err := d.Trigger(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return p.printStarted(started, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) printStarted(s admin.StartedRuns, asJSON bool) error {
	switch {
	case asJSON:
		return render.JSON(p.out, s)
	case s.Started == 1 && s.Skipped == 0:
		fmt.Fprintln(p.out, "started "+s.Runs[0])
	default:
		fmt.Fprintf(p.out, "started %d, skipped %d\n", s.Started, s.Skipped)
	}
	return nil
}
