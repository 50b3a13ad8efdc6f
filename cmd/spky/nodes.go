package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

func newNodesCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "nodes",
		Short: "Show the running nodes and how busy they are",
		Long: `Show the nodes: the processes that run jobs.

  alive     its heartbeat is less than 10 s old
  draining  it is shutting down and claims nothing more
  dead      silent for longer; the others have taken over its jobs

For each backend: slots in use of those there are, how many due jobs wait in
memory, and the circuit: closed, or open while the backend does not answer; its
jobs wait then, and lose no attempts.`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.showNodes(cmd.Context(), asJSON) },
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

func (p *program) showNodes(ctx context.Context, asJSON bool) error {
	return p.withJobs(ctx, "", anyTables, func(d *desk) error {
		nodes, err := d.cluster.Nodes(ctx)
		if err != nil {
			return err
		}
		return p.printNodes(nodes, asJSON)
	})
}

func (p *program) printNodes(nodes []admin.Node, asJSON bool) error {
	if asJSON {
		return render.JSON(p.out, nodes)
	}
	if len(nodes) == 0 {
		fmt.Fprintln(p.out, "No node runs. `spky dev` or `spky run` starts one.")
		return nil
	}
	style := render.StyleFor(p.out, p.env)
	table := render.NewTable("NODE", "STATE", "HEARTBEAT", "UP", "HOST", "PID", "BACKEND", "BUSY", "QUEUED", "CIRCUIT")
	table.Paint(1, style.Status)
	table.Paint(9, style.Status)
	for _, n := range nodes {
		own := []string{n.Node, n.State, millis(n.SilentMS) + " ago", millis(n.UpMS), n.Host, fmt.Sprint(n.PID)}
		if len(n.Backends) == 0 {
			table.Add(append(own, "-", "-", "-", "-")...)
		}
		for i, b := range n.Backends {
			if i > 0 {
				own = []string{"", "", "", "", "", ""}
			}
			table.Add(append(own[:6:6], b.Name, fmt.Sprintf("%d/%d", b.Busy, b.Slots), fmt.Sprint(b.Queued), b.Circuit)...)
		}
	}
	return table.Write(p.out, style)
}

func millis(n int64) string { return render.Span(time.Duration(n) * time.Millisecond) }
