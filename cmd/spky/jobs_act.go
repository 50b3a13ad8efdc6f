package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
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
			return p.each(cmd.Context(), table, args, func(d *desk, id surreal.RecordID) error {
				t, err := d.inspected(cmd.Context(), id.Table)
				if err != nil {
					return err
				}
				was, err := t.Cancel(cmd.Context(), id)
				if err != nil {
					return err
				}
				done := "cancelled"
				if was == outbox.Processing {
					done = "asked the node that runs it to abort"
				}
				fmt.Fprintf(p.out, "%s %s\n", done, surreal.FormatID(id))
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
			return p.each(cmd.Context(), table, args, func(d *desk, id surreal.RecordID) error {
				was, err := d.table(id.Table).Retry(cmd.Context(), id)
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "pending again (was %s) %s\n", was, surreal.FormatID(id))
				return nil
			})
		},
	}
	p.tableFlag(cmd, &table)
	return cmd
}
