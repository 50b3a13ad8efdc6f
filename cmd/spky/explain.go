package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// An explainer says why something does not run: against the database or through an admin API.
type explainer interface {
	Any(ctx context.Context, id string) (admin.Explanation, error)
}

func newExplainCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain <job, instance, run, schedule or DAG>",
		Short: "Say why a job, a workflow instance or a schedule is not running, and what to do",
		Long: `Say why a job, a workflow instance, a run of a DAG, or a schedule or DAG is not
running, and what to do.

The causes are read from its row and from what the nodes tell of themselves: not
due yet, an open circuit, full slots, a lease, an event that has not come, code
that no longer fits, and more. The most important one comes first. Times are the
database's. Nothing is changed.

A job is named by its record id, such as job:ab12; anything else by its id or name
alone.`,
		Example: "  spky explain job:ab12\n  spky explain note-1\n  spky explain note-1 --json | jq -r '.causes[].code'",
		Args:    takes(1, "the id of a job, an instance or a run, or the name of a schedule or DAG"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withExplainer(cmd.Context(), func(e explainer) error { return p.explain(cmd.Context(), e, args[0], asJSON) })
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// withExplainer gives a command what explains.
func (p *program) withExplainer(ctx context.Context, do func(explainer) error) error {
	return remediedAfar(reach(ctx, p, func(api *client.Client) explainer { return api.Explainer() },
		func(db *surreal.Client, cfg *config.Config) explainer {
			return admin.NewExplainer(admin.ExplainConfig{DB: db, Backends: cfg.Backends, Redact: redact.New(cfg.Redact)})
		}, do))
}

func (p *program) explain(ctx context.Context, e explainer, id string, asJSON bool) error {
	explanation, err := e.Any(ctx, id)
	switch {
	case errors.Is(err, admin.ErrNotFound) && len(explanation.Causes) > 0:
		return hint.Wrap(err, "%s", explanation.Causes[0].Remedy)
	case err != nil:
		return err
	case asJSON:
		return render.JSON(p.out, explanation)
	}
	p.printExplanation(explanation)
	return nil
}

func (p *program) printExplanation(e admin.Explanation) {
	style := render.StyleFor(p.out, p.env)
	fmt.Fprintf(p.out, "%s is %s.\n", render.Printable(e.Subject), style.Status(render.Printable(e.State)))
	for _, c := range e.Causes {
		fmt.Fprintf(p.out, "\n%s\n", render.Printable(c.Sentence))
		if c.Remedy != "" {
			fmt.Fprintf(p.out, "%s %s\n", style.Dim("→"), render.Printable(c.Remedy))
		}
	}
}
