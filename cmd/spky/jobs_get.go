package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

func newJobsGetCommand(p *program) *cobra.Command {
	var table string
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "get <id>",
		Aliases: []string{"show"},
		Short:   "Show a job with its payload, result and errors",
		Long:    "Show a job with everything its row holds.\n\n" + jobIDHelp,
		Example: "  spky jobs get job:ab12\n  spky jobs get ab12 --json | jq .result",
		Args:    takes(1, "the id of a job"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.each(cmd.Context(), table, args, func(d *desk, id surreal.RecordID) error {
				row, err := d.table(id.Table).Get(cmd.Context(), id)
				if err != nil {
					return err
				}
				if asJSON {
					return render.Rows(p.out, row)
				}
				return p.printJob(row)
			})
		},
	}
	p.tableFlag(cmd, &table)
	jsonFlag(cmd, &asJSON)
	return cmd
}

// printJob writes a column a line: the ones everybody looks for first.
func (p *program) printJob(row outbox.Row) error {
	style := render.StyleFor(p.out, p.env)
	first := []string{"id", "status", "path", "retries", "max_retries", "retry_strategy", "created_at", "updated_at", "run_at", "delay", "timeout", "assigned_to"}
	last := []string{"payload", "result", "errors"}
	var rest []string
	for _, name := range slices.Sorted(maps.Keys(row)) {
		if !slices.Contains(first, name) && !slices.Contains(last, name) {
			rest = append(rest, name)
		}
	}
	for _, name := range slices.Concat(first, rest, last) {
		value, there := row[name]
		if list, ok := value.([]any); !there || value == nil || ok && len(list) == 0 {
			continue
		}
		text, err := cell(value)
		if err != nil {
			return fmt.Errorf("show column %s: %w", name, err)
		}
		if name == "status" {
			text = style.Status(text)
		}
		fmt.Fprintf(p.out, "%s %s\n", style.Dim(fmt.Sprintf("%-15s", name)), text)
	}
	return nil
}

// cell is a value for people: texts without quotes, the rest as JSON.
func cell(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return render.Printable(v), nil
	case surreal.RecordID:
		return render.Printable(surreal.FormatID(v)), nil
	case interface{ UTC() time.Time }:
		return v.UTC().Format(time.RFC3339Nano), nil
	}
	text, err := surreal.ToJSON(value)
	if err != nil {
		return "", err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, strings.Repeat(" ", 16), "  "); err != nil {
		return "", err
	}
	return out.String(), nil
}
