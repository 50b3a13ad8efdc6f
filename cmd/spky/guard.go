package main

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/proc"
)

// newGuardCommand is the process that spky dev keeps beside itself, so that none
// of the apps outlives it.
func newGuardCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:    guardCommand,
		Hidden: true,
		Args:   takes(0),
		RunE: func(*cobra.Command, []string) error {
			signal.Ignore(syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			proc.RunGuard(p.in)
			return nil
		},
	}
}

const guardCommand = "guard-children"
