package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
)

func scheduleNames(cfg *config.Config) []string {
	names := make([]string, 0, len(cfg.Schedules))
	for _, s := range cfg.Schedules {
		names = append(names, s.Name)
	}
	return names
}

func newSchedulesActCommands(p *program) []*cobra.Command {
	return []*cobra.Command{
		p.scheduleVerb("pause", "Let a schedule start nothing more", `Let a schedule start nothing more until it is resumed. What runs goes on.`, scheduleOps.Pause, "paused"),
		p.scheduleVerb("resume", "Go on with a paused schedule", `Go on with a paused schedule, with the next tick from now on. What fell into the
pause is not made up for; spky schedules trigger does that.`, scheduleOps.Resume, "resumed"),
		newSchedulesTriggerCommand(p), newSchedulesReleaseCommand(p),
	}
}

func (p *program) scheduleVerb(name, short, long string, do func(scheduleOps, context.Context, string) (string, error), done string) *cobra.Command {
	return &cobra.Command{
		Use:   name + " <name>",
		Short: short,
		Long: long + `

Where the schedule's state does not allow it the exit code is 4.`,
		Example:           "  spky schedules " + name + " nightly",
		Args:              takes(1, "the name of a schedule"),
		ValidArgsFunction: p.completeSchedule,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSchedules(cmd.Context(), func(s scheduleOps) error {
				was, err := do(s, cmd.Context(), args[0])
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "%s %s (was %s)\n", done, args[0], was)
				return nil
			})
		},
	}
}

func newSchedulesTriggerCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "trigger <name>",
		Aliases: []string{"run"},
		Short:   "Start what a schedule is for now",
		Long: `Start what a schedule is for now, also while it is paused or disabled. Its ticks
stay as they are.

Where its concurrency lets nothing start beside what runs, the exit code is 4.`,
		Example:           "  spky schedules trigger nightly",
		Args:              takes(1, "the name of a schedule"),
		ValidArgsFunction: p.completeSchedule,
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withSchedules(cmd.Context(), func(s scheduleOps) error {
				t, err := s.Trigger(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				return p.printTriggered(t, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) printTriggered(t admin.Triggered, asJSON bool) error {
	switch {
	case asJSON:
		return render.JSON(p.out, t)
	case t.Started == 1 && t.Skipped == 0:
		fmt.Fprintln(p.out, "started "+t.Job+t.Instance+t.Run)
	default:
		fmt.Fprintf(p.out, "started %d, skipped %d\n", t.Started, t.Skipped)
	}
	return nil
}

func newSchedulesReleaseCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:   "release <name> [key]",
		Short: "Let keys start again that are in quarantine",
		Long: `Let keys start again that are in quarantine because their runs failed as often
in a row as quarantineAfter says: the key of one row of forEach, or all. A
schedule without forEach has one key, which is empty; leave it out.`,
		Example:           "  spky schedules release reports customer:one",
		Args:              takes(1, "the name of a schedule", "a key"),
		ValidArgsFunction: p.completeSchedule,
		RunE: func(cmd *cobra.Command, args []string) error {
			key := strings.Join(args[1:], "")
			if len(args) > 1 && key == "" {
				return usagef("the key is empty; leave it out to release all keys")
			}
			return p.withSchedules(cmd.Context(), func(s scheduleOps) error {
				keys, err := s.Release(cmd.Context(), args[0], key)
				if err != nil {
					return err
				}
				fmt.Fprintf(p.out, "released %d of %s\n", len(keys), args[0])
				return nil
			})
		},
	}
}
