package main

import (
	"slices"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/config"
)

const jobIDHelp = `A job is named by its record id, as SurrealDB writes it: job:ab12, job:7,
job:⟨a-b⟩, job:u'018e…', job:['x', 1]. The key alone will do where the
configuration has only one outbox table. Put quotes around it for the shell.`

func newJobsCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "jobs",
		Aliases: []string{"job"},
		Short:   "Create, list, watch, cancel, retry and clear jobs",
		Long: `Create, list, watch, cancel, retry and clear jobs: the rows of the outbox tables.

The tables are those of the configuration, or the one that --table names.

` + jobIDHelp,
		Example: `  spky jobs create --path /documents/index --payload '{"id": 1}' --wait
  spky jobs list --status failed
  spky jobs watch`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newJobsListCommand(p), newJobsGetCommand(p), newJobsCreateCommand(p),
		newJobsCancelCommand(p), newJobsRetryCommand(p), newJobsWatchCommand(p), newJobsClearCommand(p))
	return cmd
}

// tableFlag adds --table to a command.
func (p *program) tableFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "table", "", "the outbox table (default those of the configuration)")
	_ = cmd.RegisterFlagCompletionFunc("table", p.completeFrom(outboxTables))
}

// completeFrom offers words of the configuration; none where it cannot be read.
func (p *program) completeFrom(words func(*config.Config) []string) cobra.CompletionFunc {
	return func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		cfg, err := p.loadAny()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cfg), cobra.ShellCompDirectiveNoFileComp
	}
}

// outboxTables are the tables of the backends, each once.
func outboxTables(cfg *config.Config) []string {
	var tables []string
	for _, b := range cfg.Backends {
		if b.Table != "" && !slices.Contains(tables, b.Table) {
			tables = append(tables, b.Table)
		}
	}
	return tables
}

// takesJobs checks that there is at least one id.
func takesJobs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return usagef("%sthe id of a job is missing", what(cmd))
	}
	return nil
}
