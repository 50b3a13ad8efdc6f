package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/wf"
)

// An instanceVerb is a command that changes an instance.
type instanceVerb struct {
	name    string
	aliases []string
	short   string
	long    string
	do      func(durable, context.Context, string) (wf.Status, error)
	done    func(was wf.Status) string
}

func instanceVerbs() []instanceVerb {
	always := func(text string) func(wf.Status) string { return func(wf.Status) string { return text } }
	return []instanceVerb{
		{
			"pause", nil, "Let an instance begin no further step",
			"Let an instance begin no further step. A running step finishes and is stored, and\nthen the instance is paused. One that waits is paused at once.",
			durable.Pause, func(was wf.Status) string {
				if was == wf.Running {
					return "will be paused when its step is stored:"
				}
				return "paused"
			},
		},
		{
			"resume", nil, "Go on with a paused instance",
			"Go on with a paused instance. What is left of its sleeps and deadlines is what was\nleft when it was paused.", durable.Resume, always("resumed"),
		},
		{
			"terminate",
			[]string{"cancel", "kill"},
			"End an instance at once",
			"End an instance at once. A step that runs is aborted, and stores nothing.", durable.Terminate, always("terminated"),
		},
		{
			"retry", nil, "Go on with an errored instance from its failed steps",
			"Go on with an errored instance from its failed steps; those that succeeded stay\nas they are. A stalled instance is run now.", durable.Retry, always("queued again"),
		},
	}
}

func newInstancesActCommands(p *program) []*cobra.Command {
	var all []*cobra.Command
	for _, v := range instanceVerbs() {
		all = append(all, &cobra.Command{
			Use:     v.name + " <workflow> <id>",
			Aliases: v.aliases,
			Short:   v.short,
			Long: v.long + `

Where the instance's state does not allow it the exit code is 4. The id may be
latest.`,
			Example:           "  spky workflows instances " + v.name + " INGEST note-1",
			Args:              takes(2, "the name of a workflow", "the id of an instance"),
			ValidArgsFunction: p.completeWorkflow(true),
			RunE: func(cmd *cobra.Command, args []string) error {
				return p.actOnInstance(cmd.Context(), args, v.do, v.done)
			},
		})
	}
	return all
}

// actOnInstance changes an instance and says what it did.
func (p *program) actOnInstance(
	ctx context.Context, args []string, do func(durable, context.Context, string) (wf.Status, error), done func(was wf.Status) string,
) error {
	return p.withDurable(ctx, func(d durable) error {
		i, err := instance(ctx, d, args)
		if err != nil {
			return err
		}
		was, err := do(d, ctx, i.ID)
		if err != nil {
			return err
		}
		fmt.Fprintf(p.out, "%s %s (was %s)\n", done(was), i.ID, was)
		return nil
	})
}

func newInstancesSendEventCommand(p *program) *cobra.Command {
	var typ, payload string
	cmd := &cobra.Command{
		Use:   "send-event <workflow> <id>",
		Short: "Send an event to an instance",
		Long: `Send an event to an instance. It is kept until a step waits for its type, and
wakes the instance at once if one does. To a finished instance none can be sent:
exit code 4.

The payload is JSON: in the argument, in a file (@file), or on standard input (-).`,
		Example:           "  spky workflows instances send-event INGEST latest --type reviewed --payload '{\"ok\": true}'",
		Args:              takes(2, "the name of a workflow", "the id of an instance"),
		ValidArgsFunction: p.completeWorkflow(true),
		RunE: func(cmd *cobra.Command, args []string) error {
			if typ == "" {
				return usagef("--type is missing: the type of the event")
			}
			text, err := p.argument("--payload", payload)
			if err != nil {
				return err
			}
			return p.withDurable(cmd.Context(), func(d durable) error {
				i, err := instance(cmd.Context(), d, args)
				if err != nil {
					return err
				}
				if _, err := d.SendEvent(cmd.Context(), i.ID, typ, text); err != nil {
					return err
				}
				fmt.Fprintf(p.out, "sent %s to %s\n", typ, i.ID)
				return nil
			})
		},
	}
	cmd.Flags().StringVar(&typ, "type", "", "the type of the event (required)")
	cmd.Flags().StringVar(&payload, "payload", "", "what it carries: JSON, @file, or - for standard input (default {})")
	return cmd
}
