package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// The flags that say which step a restart begins from.
const (
	flagFromName  = "from-step-name"
	flagFromCount = "from-step-count"
	flagFromType  = "from-step-type"
)

func newInstancesRestartCommand(p *program) *cobra.Command {
	var from admin.StepRef
	cmd := &cobra.Command{
		Use:   "restart <workflow> <id>",
		Short: "Begin an instance again, from its start or from a step",
		Long: `Begin an instance again, with the same id and params, in any state. Its steps and
events are forgotten, and a run under way stores nothing more.

With --from-step-name it begins from a step: that one and all that began after it
are forgotten. Those that began before it are replayed from what they stored, with
the events that they got. A step that the instance does not have changes nothing:
exit code 3. The id may be latest.`,
		Example: `  spky workflows instances restart INGEST note-1
  spky workflows instances restart INGEST latest --from-step-name convert --from-step-count 2`,
		Args:              takes(2, "the name of a workflow", "the id of an instance"),
		ValidArgsFunction: p.completeWorkflow(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			do := durable.Restart
			given, err := fromStep(cmd.Flags(), from)
			if err != nil {
				return err
			}
			if given {
				do = func(d durable, ctx context.Context, id string) (wf.Status, error) {
					return d.RestartFrom(ctx, id, from)
				}
			}
			return p.actOnInstance(cmd.Context(), args, do, func(wf.Status) string {
				if given {
					return "restarted from " + from.String() + ":"
				}
				return "restarted"
			})
		},
	}
	cmd.Flags().StringVar(&from.Name, flagFromName, "", "the step to begin from")
	cmd.Flags().IntVar(&from.Count, flagFromCount, 0, "which step of that name and type, from 1 (default 1)")
	cmd.Flags().StringVar(&from.Type, flagFromType, "", "its type: "+strings.Join(stepTypes(), ", ")+" (default do where a do has the name)")
	_ = cmd.RegisterFlagCompletionFunc(flagFromType, cobra.FixedCompletions(stepTypes(), cobra.ShellCompDirectiveNoFileComp)) // the flag is there
	return cmd
}

func stepTypes() []string { return []string{"do", "sleep", "waitForEvent"} }

// fromStep says whether the flags name a step, and refuses what none can be.
func fromStep(flags *pflag.FlagSet, from admin.StepRef) (bool, error) {
	if !flags.Changed(flagFromName) {
		for _, name := range []string{flagFromCount, flagFromType} {
			if flags.Changed(name) {
				return false, usagef("--%s needs --%s: the name of the step", name, flagFromName)
			}
		}
		return false, nil
	}
	switch {
	case flags.Changed(flagFromCount) && from.Count < 1:
		return false, usagef("--%s %d: steps are counted from 1", flagFromCount, from.Count)
	case flags.Changed(flagFromType) && !slices.Contains(stepTypes(), from.Type):
		return false, usagef("--%s %q; allowed: %s", flagFromType, from.Type, strings.Join(stepTypes(), ", "))
	}
	if err := from.Validate(); err != nil {
		return false, usagef("--%s: %s", flagFromName, strings.TrimPrefix(err.Error(), "wf: "))
	}
	return true, nil
}
