package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/outbox"
)

func newJobsCancelCommand(p *program) *cobra.Command {
	var table string
	cmd := &cobra.Command{
		Use:     "cancel <id>…",
		Aliases: []string{"kill"},
		Short:   "Cancel jobs",
		Long: `Cancel jobs. One that waits ends as cancelled at once; of one that runs, the
request is aborted by the node that holds it. A finished job cannot be cancelled:
exit code 4.

` + jobIDHelp,
		Example: "  spky jobs cancel job:ab12",
		Args:    takesJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.each(cmd.Context(), table, args, func(d *desk, id string) error {
				was, err := d.jobs.Cancel(cmd.Context(), id)
				if err != nil {
					return err
				}
				done := "cancelled"
				if was == outbox.Processing {
					done = "asked the node that runs it to abort"
				}
				fmt.Fprintf(p.out, "%s %s\n", done, render.Printable(id))
				return nil
			})
		},
	}
	p.tableFlag(cmd, &table)
	return cmd
}

func newJobsRetryCommand(p *program) *cobra.Command {
	var table string
	cmd := &cobra.Command{
		Use:   "retry <id>…",
		Short: "Run finished jobs again",
		Long: `Run finished jobs again, from their first attempt. The errors and the result they
had are forgotten. A job that waits or runs cannot be retried: exit code 4.

` + jobIDHelp,
		Example: "  spky jobs retry job:ab12\n  spky jobs list --status failed --json | jq -r '.[].id' | xargs -d '\\n' spky jobs retry",
		Args:    takesJobs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.each(cmd.Context(), table, args, func(d *desk, id string) error {
				was, err := d.jobs.Retry(cmd.Context(), id)
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "pending again (was %s) %s\n", was, render.Printable(id))
				return nil
			})
		},
	}
	p.tableFlag(cmd, &table)
	return cmd
}

func newJobsClearCommand(p *program) *cobra.Command {
	var table string
	var all, asJSON bool
	cmd := &cobra.Command{
		Use:   "clear",
		Short: "Delete finished jobs",
		Long: `Delete finished jobs, of all outbox tables or of one: those that succeeded, failed
or were cancelled. With --all those that wait are deleted too. A job that runs
never is.

A waiting job of a workflow instance comes back: its instance is given a new one.`,
		Example: "  spky jobs clear --table job",
		Args:    takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("table") && table == "" { // as a script has it whose variable was never set
				return usagef("--table is empty; leave it out to clear all tables")
			}
			return p.withJobs(cmd.Context(), table, nil, func(d *desk) error {
				total := 0
				for {
					c, err := d.jobs.Clear(cmd.Context(), table, all)
					total += c.Cleared
					switch {
					case err != nil:
						return err
					case c.More && c.Cleared > 0:
						continue
					case asJSON:
						return render.JSON(p.out, map[string]int{"cleared": total})
					}
					fmt.Fprintf(p.out, "deleted %s\n", count(total, "job", "jobs"))
					return nil
				}
			})
		},
	}
	p.tableFlag(cmd, &table)
	cmd.Flags().BoolVarP(&all, "all", "A", false, "also those that wait")
	jsonFlag(cmd, &asJSON)
	return cmd
}
