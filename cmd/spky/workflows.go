package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

func newWorkflowsCommand(p *program) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "workflows",
		Aliases: []string{"workflow", "durable"},
		Short:   "Start durable workflows, look at their instances and act on them",
		Long: `Start durable workflows, look at their instances and act on them.

A workflow is named by its binding, as apps.<backend>.workflows in sp00ky.yml has
it. An instance is named by its workflow and its id; latest is the workflow's
newest one.

Everything here works on the database alone: with no runner and no backend it
answers the same, and what it writes is carried out once they are back.`,
		Example: `  spky workflows trigger INGEST '{"title": "A note", "text": "Buy milk."}'
  spky workflows instances watch INGEST
  spky workflows instances list INGEST --status errored`,
	}
	groupOnly(cmd)
	cmd.AddCommand(newWorkflowsListCommand(p), newWorkflowsDescribeCommand(p), newWorkflowsTriggerCommand(p), newInstancesCommand(p))
	return cmd
}

// withDurable gives a command on workflows what it works with.
func (p *program) withDurable(ctx context.Context, do func(durable) error) error {
	var local *config.Config
	err := reach(ctx, p, func(api *client.Client) durable { return api.Durable() }, func(db *surreal.Client, cfg *config.Config) durable {
		local = cfg
		return admin.NewDurable(admin.DurableConfig{DB: db, Backends: cfg.Backends, Redact: redact.New(cfg.Redact)})
	}, do)
	if local == nil {
		return remediedAfar(err)
	}
	return remedied(local, err)
}

// remedied gives an error of admin its remedy where that depends on more than its kind.
func remedied(cfg *config.Config, err error) error {
	var refused *admin.StateError
	switch {
	case err == nil || hint.Of(err) != "":
		return err
	case errors.As(err, &refused):
		return hint.Wrap(err, "possible now: %s", joined(refused.Possible))
	case errors.Is(err, admin.ErrExists):
		return hint.Wrap(err, "choose another --id")
	case errors.Is(err, admin.ErrNotFound) && len(workflowNames(cfg)) > 0:
		return hint.Wrap(err, "%s has the workflows %s; `spky workflows instances list` shows the instances", cfg.File, joined(workflowNames(cfg)))
	case errors.Is(err, admin.ErrNotFound):
		return hint.Wrap(err, "%s declares no workflows: add apps.<backend>.workflows: [{binding, class}]", cfg.File)
	}
	return err
}

func workflowNames(cfg *config.Config) []string {
	return admin.NewDurable(admin.DurableConfig{Backends: cfg.Backends}).Declared()
}

// completeWorkflow offers the workflows for the first argument, and latest for the second.
func (p *program) completeWorkflow(instance bool) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, text string) ([]cobra.Completion, cobra.ShellCompDirective) {
		switch {
		case len(args) == 0:
			return p.completeFrom(workflowNames)(cmd, args, text)
		case len(args) == 1 && instance:
			return []string{latest}, cobra.ShellCompDirectiveNoFileComp
		}
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
}

func newWorkflowsListCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Aliases: []string{"ls"},
		Short:   "List the workflows",
		Long: `List the workflows: those that sp00ky.yml declares, and those that have instances
and are declared by none of its backends any more.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.withDurable(cmd.Context(), func(d durable) error { return p.listWorkflows(cmd.Context(), d, asJSON) })
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) listWorkflows(ctx context.Context, d durable, asJSON bool) error {
	all, err := d.Workflows(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return render.JSON(p.out, all)
	}
	if len(all) == 0 {
		fmt.Fprintln(p.out, "No workflows. `apps.<backend>.workflows: [{binding, class}]` in sp00ky.yml declares some.")
		return nil
	}
	now, err := d.Now(ctx)
	if err != nil {
		return err
	}
	style := render.StyleFor(p.out, p.env)
	table := render.NewTable("NAME", "CLASS", "BACKEND", "TABLE", "LAST CREATED")
	for _, w := range all {
		last := "-"
		if w.LastCreated != nil {
			last = render.Age(*w.LastCreated, now)
		}
		table.Add(w.Binding, orDash(w.Class), orDash(w.Backend), orDash(w.Table), last)
	}
	return table.Write(p.out, style)
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func newWorkflowsDescribeCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "describe <workflow>",
		Aliases:           []string{"get", "show"},
		Short:             "Show a workflow and how many instances are in which state",
		Args:              takes(1, "the name of a workflow"),
		ValidArgsFunction: p.completeWorkflow(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withDurable(cmd.Context(), func(d durable) error { return p.describeWorkflow(cmd.Context(), d, args[0], asJSON) })
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) describeWorkflow(ctx context.Context, d durable, binding string, asJSON bool) error {
	w, err := d.Workflow(ctx, binding)
	if err != nil {
		return err
	}
	counts, err := d.Counts(ctx, binding)
	if err != nil {
		return err
	}
	if asJSON {
		return render.JSON(p.out, struct {
			admin.Workflow
			Counts []admin.Count `json:"instances"`
		}{w, counts})
	}
	f := p.fields(16)
	f.text("Name", w.Binding)
	f.text("Class", w.Class)
	f.text("Backend", w.Backend)
	f.text("Outbox table", w.Table)
	f.moment("Last created", w.LastCreated)
	if !w.Declared() {
		f.text("Note", "no backend of the configuration has it: its instances cannot run")
	}
	fmt.Fprintln(p.out, "Instances")
	for _, c := range counts {
		more := ""
		if c.More {
			more = "+"
		}
		fmt.Fprintf(p.out, "  %s%s %d%s\n", f.style.Status(string(c.Status)), strings.Repeat(" ", 13-len(c.Status)), c.Count, more)
	}
	return nil
}

type triggerFlags struct {
	id, owner  string
	wait, json bool
}

func newWorkflowsTriggerCommand(p *program) *cobra.Command {
	var f triggerFlags
	cmd := &cobra.Command{
		Use:   "trigger <workflow> [params]",
		Short: "Start a new instance of a workflow",
		Long: `Start a new instance of a workflow. It is written together with the job that runs
it, so it is never lost; it runs as soon as a runner and the backend are there.

The params are JSON: in the argument, in a file (@file), or on standard input (-).

With --wait the command ends with the instance, with exit code 0 when it is
complete and 1 when it failed or was terminated.`,
		Example: `  spky workflows trigger INGEST '{"title": "A note", "text": "Buy milk."}' --id note-1
  spky workflows trigger INGEST @params.json --wait`,
		Args:              takes(1, "the name of a workflow", "the params"),
		ValidArgsFunction: p.completeWorkflow(false),
		RunE: func(cmd *cobra.Command, args []string) error {
			params := ""
			if len(args) > 1 {
				params = args[1]
			}
			return p.trigger(cmd.Context(), args[0], params, f)
		},
	}
	cmd.Flags().StringVar(&f.id, "id", "", "the id of the instance (default a random one)")
	cmd.Flags().StringVar(&f.owner, "owner", "", "the record whose user may read the instance, for instance user:ab12")
	cmd.Flags().BoolVar(&f.wait, "wait", false, "wait until the instance has ended")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (p *program) trigger(ctx context.Context, binding, params string, f triggerFlags) error {
	text, err := p.argument("the params", params)
	if err != nil {
		return err
	}
	return p.withDurable(ctx, func(d durable) error {
		id, err := d.Create(ctx, admin.NewInstance{Binding: binding, ID: f.id, Params: text, Owner: f.owner})
		if err != nil {
			return heldBy(ctx, d, f.id, err)
		}
		switch {
		case f.wait:
			if !f.json {
				fmt.Fprintf(p.out, "queued %s\n", id)
			}
			return p.watchInstance(ctx, d, binding, id, f.json)
		case f.json:
			return render.JSON(p.out, map[string]string{"id": id, "workflow": binding})
		}
		fmt.Fprintf(p.out, "queued %s\n", id)
		fmt.Fprintf(p.err, "hint: `spky workflows instances watch %s %s` shows what becomes of it\n", binding, id)
		return nil
	})
}

// heldBy names the workflow that has an id already, which may be another than the one that was to get it.
func heldBy(ctx context.Context, d durable, id string, err error) error {
	if !errors.Is(err, admin.ErrExists) {
		return err
	}
	i, lookErr := d.Get(ctx, id)
	if lookErr != nil {
		return err
	}
	return hint.Wrap(err, "choose another --id, or begin that one again: `spky workflows instances restart %s %s`", i.Binding, i.ID)
}
