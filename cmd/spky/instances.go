package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/wf"
)

// latest is the id that stands for a workflow's newest instance.
const latest = "latest"

func newInstancesCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "instances",
		Aliases: []string{"instance"},
		Short:   "List, describe, watch, pause, resume, restart, retry and terminate instances",
		Long: `List, describe, watch, pause, resume, restart, retry and terminate instances of
workflows, and send them events.

The states of an instance:

  queued      its next run is due
  running     its code runs
  waiting     for a sleep to end, for an event, or for the next attempt of a step
  paused      until it is resumed
  complete    it has ended, and has an output
  errored     it has ended with an error; retry goes on from the failed steps
  terminated  somebody ended it`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newInstancesListCommand(p), newInstancesDescribeCommand(p), newInstancesWatchCommand(p), newInstancesSendEventCommand(p), newInstancesRestartCommand(p))
	cmd.AddCommand(newInstancesActCommands(p)...)
	return cmd
}

type instancesFlags struct {
	status, owner string
	prefix        string
	stalled       bool
	page, perPage int
	limit         int // 0 for pages
	reverse, json bool
}

// maxPages bounds --page: every page before it is walked.
const maxPages = 1000

func newInstancesListCommand(p *program) *cobra.Command {
	var f instancesFlags
	cmd := &cobra.Command{
		Use:     "list [workflow]",
		Aliases: []string{"ls"},
		Short:   "List instances, newest first",
		Long: `List instances, newest first, of all workflows or of one.

Params and outputs are not shown: spky workflows instances describe shows them.
--stalled shows only those that nothing runs although something should: their
runs failed too often, or their code no longer fits what was stored.`,
		Example: "  spky workflows instances list INGEST --status errored\n" +
			"  spky workflows instances list --owner user:ab12 --json | jq -r '.[].id'",
		Args:              takes(0, "the name of a workflow"),
		ValidArgsFunction: p.completeWorkflow(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			binding := ""
			if len(args) == 1 {
				binding = args[0]
			}
			if err := f.checkLimit(cmd.Flags().Changed); err != nil {
				return err
			}
			return p.listInstances(cmd.Context(), binding, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.status, "status", "", "only instances in this state: "+joined(instanceStatuses()))
	flags.StringVar(&f.owner, "owner", "", "only instances of this owner, for instance user:ab12")
	flags.StringVar(&f.prefix, "id-prefix", "", "only instances whose id begins with this; they come by id")
	flags.BoolVar(&f.stalled, "stalled", false, "only stalled instances")
	flags.IntVar(&f.page, "page", 1, "which page")
	flags.IntVar(&f.perPage, "per-page", admin.DefaultPage, "how many instances a page has")
	flags.IntVar(&f.limit, "limit", admin.DefaultPage, "how many instances at most, instead of pages")
	flags.BoolVar(&f.reverse, "reverse", false, "show the oldest of these instances first")
	complete(cmd, "status", instanceStatuses()...)
	jsonFlag(cmd, &f.json)
	return cmd
}

// checkLimit leaves a limit of 0 where none is given.
func (f *instancesFlags) checkLimit(given func(string) bool) error {
	switch {
	case !given("limit"):
		f.limit = 0
	case given("page") || given("per-page"):
		return usagef("--limit says how many instances in all; leave out --page and --per-page, or --limit")
	case f.limit < 1 || f.limit > maxList:
		return usagef("--limit is %d; allowed: 1 to %d", f.limit, maxList)
	}
	return nil
}

func instanceStatuses() []string {
	var all []string
	for _, s := range admin.Statuses() {
		all = append(all, string(s))
	}
	return all
}

func (p *program) listInstances(ctx context.Context, binding string, f instancesFlags) error {
	switch {
	case f.status != "" && !slices.Contains(instanceStatuses(), f.status):
		return usagef("--status is %q; allowed: %s", f.status, joined(instanceStatuses()))
	case f.perPage < 1 || f.perPage > admin.MaxPage:
		return usagef("--per-page is %d; allowed: 1 to %d", f.perPage, admin.MaxPage)
	case f.page < 1 || f.page > maxPages:
		return usagef("--page is %d; allowed: 1 to %d", f.page, maxPages)
	}
	return p.withDurable(ctx, func(d durable) error {
		o := admin.ListOptions{Binding: binding, Status: wf.Status(f.status), Owner: f.owner, Query: f.prefix, Stalled: f.stalled, Limit: f.perPage}
		page, err := f.read(ctx, d, o)
		if err != nil {
			return err
		}
		if f.reverse {
			slices.Reverse(page.Instances)
		}
		if f.json {
			return render.JSON(p.out, page.Instances)
		}
		if len(page.Instances) == 0 {
			return p.noInstances(ctx, d, binding, f)
		}
		now, err := d.Now(ctx)
		if err != nil {
			return err
		}
		return p.printInstances(page.Instances, now)
	})
}

// read gives the page that is asked for, or the first instances where a limit is.
func (f instancesFlags) read(ctx context.Context, d durable, o admin.ListOptions) (admin.Page, error) {
	if f.limit == 0 {
		return walkTo(ctx, d, o, f.page)
	}
	all := admin.Page{Instances: []admin.Summary{}}
	for {
		o.Limit = min(f.limit-len(all.Instances), admin.MaxPage)
		page, err := d.List(ctx, o)
		if err != nil {
			return all, err
		}
		all.Instances = append(all.Instances, page.Instances...)
		if page.Next == "" || len(all.Instances) >= f.limit {
			return all, nil
		}
		o.Cursor = page.Next
	}
}

// walkTo gives the n-th page, or an empty one beyond the last.
func walkTo(ctx context.Context, d durable, o admin.ListOptions, n int) (admin.Page, error) {
	for {
		page, err := d.List(ctx, o)
		if err != nil || n == 1 {
			return page, err
		}
		if page.Next == "" {
			return admin.Page{Instances: []admin.Summary{}}, nil
		}
		o.Cursor = page.Next
		n--
	}
}

// noInstances says that there are none, unless there is not even such a workflow.
func (p *program) noInstances(ctx context.Context, d durable, binding string, f instancesFlags) error {
	if binding != "" {
		if _, err := d.Workflow(ctx, binding); err != nil {
			return err
		}
	}
	if f.page > 1 {
		fmt.Fprintf(p.out, "No instances on page %d.\n", f.page)
		return nil
	}
	fmt.Fprintln(p.out, "No instances.")
	return nil
}

func (p *program) printInstances(all []admin.Summary, now time.Time) error {
	style := render.StyleFor(p.out, p.env)
	table := render.NewTable("ID", "WORKFLOW", "STATUS", "STEPS", "CREATED", "UPDATED", "DOES")
	table.Paint(2, style.Status)
	for _, i := range all {
		table.Add(i.ID, i.Binding, string(i.Status), fmt.Sprint(i.StepsDone), render.Age(i.CreatedAt, now), render.Age(i.UpdatedAt, now),
			render.Cut(doing(i, now), 60))
	}
	return table.Write(p.out, style)
}

// doing says what an instance does, or why it does nothing.
func doing(i admin.Summary, now time.Time) string {
	switch {
	case i.Stalled():
		return fmt.Sprintf("stalled since %s", render.Age(*i.StalledAt, now))
	case i.PauseRequested != nil && i.Live():
		return "will be paused after " + i.CurrentStep
	case i.Error != nil:
		return i.Error.Message
	case i.WaitingFor != nil:
		return waitText(i, now)
	case i.Status == wf.Running && i.CurrentStep != "":
		return "after " + i.CurrentStep
	}
	return ""
}

// waitText says what an instance waits for, and until when.
func waitText(i admin.Summary, now time.Time) string {
	until := ""
	if i.WakeAt != nil {
		until = ", until " + render.Age(*i.WakeAt, now)
	}
	switch i.WaitingFor.Kind {
	case "sleep":
		return "sleeps: " + i.WaitingFor.Name + until
	case "event":
		return "waits for event " + strings.Join(i.WaitingFor.Types, " or ") + ": " + i.WaitingFor.Name + until
	case "retry":
		return "tries again: " + i.WaitingFor.Name + until
	case "pause":
		return "until it is resumed"
	}
	return i.WaitingFor.Kind + until
}

// instance finds the instance that a command line names: by its workflow and its id, which may be
// latest.
func instance(ctx context.Context, d durable, args []string) (admin.Instance, error) {
	binding, id := args[0], latest
	if len(args) > 1 {
		id = args[1]
	}
	if id == latest {
		var err error
		if id, err = d.Newest(ctx, binding); err != nil {
			return admin.Instance{}, err
		}
	}
	i, err := d.Get(ctx, id)
	if err == nil && i.Binding != binding {
		return i, hint.Wrap(fmt.Errorf("get instance %s of %s: %w", id, binding, admin.ErrNotFound), "an instance of %s has that id", i.Binding)
	}
	return i, err
}
