package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
)

func newLintCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "lint",
		Short: "Check sp00ky.yml and the files it names",
		Long: `Check sp00ky.yml and the files it names: OpenAPI documents, outbox schemas,
environment files. All findings are shown at once, each with its place, what was
found, what is allowed and what to do. Nothing is connected to.

Errors end with exit code 1, warnings do not.`,
		Example: "  spky lint\n  spky lint --config deploy/sp00ky.yml --json",
		Args:    takes(0),
		RunE: func(*cobra.Command, []string) error {
			r := config.Lint("", p.options(config.StageAny))
			if asJSON {
				if err := render.JSON(p.out, lintAnswer{OK: r.OK(), Report: r}); err != nil {
					return err
				}
			} else {
				p.printLint(r)
			}
			if !r.OK() {
				return errFindings
			}
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

type lintAnswer struct {
	OK bool `json:"ok"`
	config.Report
}

func (p *program) printLint(r config.Report) {
	style := render.StyleFor(p.out, p.env)
	if r.Parsed {
		fmt.Fprintf(p.out, "  Parsed %s successfully.\n", r.File)
	}
	for _, f := range r.Warnings {
		fmt.Fprintf(p.out, "  %s %s\n", style.Yellow("warning:"), f)
	}
	for _, f := range r.Errors {
		fmt.Fprintf(p.out, "  %s %s\n", style.Red("error:"), f)
	}
	errors, warnings := len(r.Errors), len(r.Warnings)
	switch {
	case errors > 0:
		fmt.Fprintf(p.out, "  Lint failed with %d error(s) and %d warning(s).\n", errors, warnings)
	case warnings > 0:
		fmt.Fprintf(p.out, "  No errors. %d warning(s).\n", warnings)
	default:
		fmt.Fprintln(p.out, "  All checks passed.")
	}
}
