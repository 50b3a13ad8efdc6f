package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// scheduleOps is what commands on schedules do: on the database, or through an admin API.
type scheduleOps interface {
	List(ctx context.Context) ([]admin.Schedule, error)
	Get(ctx context.Context, name string) (admin.Schedule, error)
	Runs(ctx context.Context, name string, limit int) ([]admin.ScheduleRun, error)
	Keys(ctx context.Context, name string) ([]admin.ScheduleKey, error)
	Pause(ctx context.Context, name string) (string, error)
	Resume(ctx context.Context, name string) (string, error)
	Trigger(ctx context.Context, name string) (admin.Triggered, error)
	Release(ctx context.Context, name, key string) ([]string, error)
}

func newSchedulesCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "schedules",
		Aliases: []string{"schedule"},
		Short:   "Look at what is started by the clock, pause it, or start it now",
		Long: `Look at what is started by the clock, pause it, or start it now: the schedules of
sp00ky.yml, once a node has written them into the database.

Everything here works on the database alone. What a schedule starts are jobs, and
instances of workflows: spky jobs and spky workflows show what becomes of them.`,
		Example: `  spky schedules list
  spky schedules trigger nightly`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newSchedulesListCommand(p), newSchedulesGetCommand(p))
	cmd.AddCommand(newSchedulesActCommands(p)...)
	return cmd
}

// withSchedules gives a command the schedules.
func (p *program) withSchedules(ctx context.Context, do func(scheduleOps) error) error {
	return remediedSchedule(reach(ctx, p, func(api *client.Client) scheduleOps { return api.Schedules() },
		func(db *surreal.Client, cfg *config.Config) scheduleOps {
			return admin.NewSchedules(db, redact.New(cfg.Redact))
		}, do))
}

// remediedSchedule gives an error its remedy.
func remediedSchedule(err error) error {
	var refused *admin.StateError
	switch {
	case err == nil || hint.Of(err) != "":
	case errors.As(err, &refused) && refused.Status == admin.ScheduleRetired:
		return hint.Wrap(err, "no node's sp00ky.yml has it any more; a node that starts with one that has it brings it back")
	case errors.As(err, &refused) && refused.Status == admin.ScheduleClockless:
		return hint.Wrap(err, "it is started by `spky dag trigger %s` alone, and has no ticks to pause", refused.ID)
	case errors.As(err, &refused) && strings.Contains(refused.Status, "not over"):
		return hint.Wrap(err, "wait for it, or cancel it: `spky schedules get %s` shows it; `concurrency: allow` in sp00ky.yml lets runs overlap", refused.ID)
	case errors.As(err, &refused):
		return hint.Wrap(err, "possible now: %s", joined(refused.Possible))
	case errors.Is(err, admin.ErrNotFound):
		return hint.Wrap(err, "`spky schedules list` shows those there are; a node that starts writes those of its sp00ky.yml")
	}
	return err
}

func newSchedulesListCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the schedules: when each is due, and what its newest run came to",
		Long: `List the schedules: when each is due next, and what its newest run came to.

  active    its ticks start something
  paused    by an operator; spky schedules resume
  disabled  by enabled: false in sp00ky.yml
  retiring  no node that runs has it in its sp00ky.yml any more; retired within
            three minutes, unless one is started that has
  retired   no node's sp00ky.yml has it any more; forgotten once its runs are
  quarantine (n)  n keys have failed too often and are not started any more;
            spky schedules release
  late      a tick is due, and no node starts it: none runs that has the schedule,
            or it cannot be started; spky schedules get tells why`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withSchedules(cmd.Context(), func(s scheduleOps) error {
				all, err := s.List(cmd.Context())
				if err != nil {
					return err
				}
				return p.printSchedules(all, asJSON)
			})
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) printSchedules(all []admin.Schedule, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.out, "No schedules. They stand under schedules: in sp00ky.yml; a node that starts writes them into the database.")
		return nil
	}
	style := render.StyleFor(p.out, p.env)
	table := render.NewTable("NAME", "STATE", "WHEN", "STARTS", "NEXT", "LAST", "LAST RUN")
	table.Paint(1, style.Status)
	table.Paint(6, style.Status)
	now := time.Now()
	for _, s := range all {
		last := "-"
		if s.LastRun != nil {
			last = s.LastRun.Status
		}
		table.Add(render.Cut(s.Name, 40), scheduleState(s), scheduleClock(s), scheduleTarget(s), age(nextTick(s), now), age(s.LastAt, now), last)
	}
	return table.Write(p.out, style)
}

// nextTick is nil where none comes; what stands there while it is paused starts nothing.
func nextTick(s admin.Schedule) *time.Time {
	if s.State == admin.SchedulePaused {
		return nil
	}
	return s.NextAt
}

func scheduleState(s admin.Schedule) string {
	switch {
	case s.Late:
		return "late"
	case s.Quarantined > 0 && s.State == admin.ScheduleActive:
		return fmt.Sprintf("quarantine (%d)", s.Quarantined)
	}
	return s.State
}

func scheduleClock(s admin.Schedule) string {
	if s.Cron == "" {
		return "every " + millis(s.EveryMS)
	}
	return s.Cron + " " + s.Timezone
}

func scheduleTarget(s admin.Schedule) string {
	if s.Workflow != "" {
		return "workflow " + s.Workflow
	}
	if s.DAG {
		return "dag " + s.Name
	}
	return s.Backend + " " + render.Cut(s.Route, 40)
}

// A detailedSchedule is what get shows.
type detailedSchedule struct {
	admin.Schedule

	Runs []admin.ScheduleRun `json:"runs"`
	Keys []admin.ScheduleKey `json:"keys"`
}

func newSchedulesGetCommand(p *program) *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:               "get <name>",
		Aliases:           []string{"describe"},
		Short:             "Show a schedule with its runs, and the keys in quarantine",
		Args:              takes(1, "the name of a schedule"),
		ValidArgsFunction: p.completeSchedule,
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 1 || limit > 200 {
				return usagef("--runs is %d; allowed: 1 to 200", limit)
			}
			return p.withSchedules(cmd.Context(), func(s scheduleOps) error {
				one, err := readSchedule(cmd.Context(), s, args[0], limit)
				if err != nil {
					return err
				}
				return p.printSchedule(one, asJSON)
			})
		},
	}
	cmd.Flags().IntVar(&limit, "runs", 20, "how many runs to show")
	jsonFlag(cmd, &asJSON)
	return cmd
}

func readSchedule(ctx context.Context, s scheduleOps, name string, limit int) (detailedSchedule, error) {
	one, err := s.Get(ctx, name)
	if err != nil {
		return detailedSchedule{}, err
	}
	runs, err := s.Runs(ctx, name, limit)
	if err != nil {
		return detailedSchedule{}, err
	}
	keys, err := s.Keys(ctx, name)
	return detailedSchedule{one, runs, keys}, err
}

func (p *program) printSchedule(s detailedSchedule, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, s)
	}
	if err := p.printSchedules([]admin.Schedule{s.Schedule}, false); err != nil {
		return err
	}
	if s.Trouble != "" {
		says := "The last tick"
		if s.Late {
			says = "The tick that is due can't be started"
		}
		fmt.Fprintf(p.out, "\n%s: %s\n", says, render.Cut(s.Trouble, 400))
	}
	style := render.StyleFor(p.out, p.env)
	now := time.Now()
	if len(s.Keys) > 0 {
		fmt.Fprintln(p.out)
		keys := render.NewTable("KEY", "FAILURES IN A ROW", "QUARANTINED")
		for _, k := range s.Keys {
			keys.Add(render.Cut(k.Key, 60), fmt.Sprint(k.Failures), age(k.QuarantinedAt, now))
		}
		if err := keys.Write(p.out, style); err != nil {
			return err
		}
	}
	if len(s.Runs) == 0 {
		return nil
	}
	fmt.Fprintln(p.out)
	runs := render.NewTable("TICK", "KEY", "STATUS", "STARTED", "WHY")
	runs.Paint(2, style.Status)
	for _, r := range s.Runs {
		runs.Add(r.Tick.Local().Format(time.DateTime), render.Cut(r.Key, 40), r.Status, render.Cut(r.Job+r.Instance+r.Run, 80), render.Cut(runReason(r), 60))
	}
	return runs.Write(p.out, style)
}

func runReason(r admin.ScheduleRun) string {
	if r.Reason == "" && r.Manual {
		return "triggered"
	}
	return r.Reason
}

// completeSchedule offers the schedules of the configuration.
func (p *program) completeSchedule(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return p.completeFrom(scheduleNames)(cmd, args, text)
}
