package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/starter"
)

const initHelp = `Begin a project: a backend with a durable workflow, in TypeScript or in Go,
that runs as it is with spky dev. Files that are there are left alone; where one
is in the way, nothing is written.

A Go project gets spky from where this program comes from: as a module of its
version, or from the checkout that it was built in, by a replace line in go.mod.

A TypeScript project gets the SDK @spooky-sync/backend from this program, into
vendor/spooky-sync-backend, since it is on no registry; --sdk-only replaces it by
the one of this program in a project that has one already.`

type initFlags struct {
	starter.Options
	sdkOnly bool
}

func newInitCommand(p *program) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:     "init [directory]",
		Short:   "Begin a project with a backend and a workflow",
		Long:    initHelp,
		Example: "  spky init shop --lang ts\n  spky init shop --lang go",
		Args:    takes(0, "directory"),
		RunE: func(_ *cobra.Command, args []string) error {
			f.Dir = "."
			if len(args) > 0 {
				f.Dir = args[0]
			}
			return p.initProject(f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.Lang, "lang", "ts", "ts or go")
	flags.StringVar(&f.Replace, "replace", "", "use this checkout of spky for a Go project, instead of the published module; by default the one that this program was built from, if any")
	flags.BoolVar(&f.sdkOnly, "sdk-only", false, "only put this program's TypeScript SDK into the project")
	complete(cmd, "lang", starter.Languages()...)
	_ = cmd.MarkFlagDirname("replace") // the flag exists
	return cmd
}

func (p *program) initProject(f initFlags) error {
	if f.sdkOnly {
		if err := starter.WriteSDK(f.Dir); err != nil {
			return fmt.Errorf("init: %w", err)
		}
		fmt.Fprintf(p.out, "The SDK in %s is that of this program; `npm install` takes it.\n", filepath.Join(f.Dir, "vendor"))
		return nil
	}
	if err := f.findModule(); err != nil {
		return err
	}
	files, err := starter.Write(f.Options)
	switch {
	case errors.Is(err, starter.ErrExists):
		return usagef("init: %v", err)
	case err != nil:
		return fmt.Errorf("init: %w", err)
	}
	fmt.Fprintf(p.out, "%d files in %s. Next:\n\n%s%s  spky dev\n\nREADME.md says what to do then.\n", len(files), f.Dir, enter(f.Dir), f.prepare())
	if f.Lang == "go" && f.Replace != "" {
		fmt.Fprintf(p.out, "go.mod takes spky from the checkout %s.\n", f.Replace)
	}
	return nil
}

// findModule says where a Go project gets spky from: --replace, the version of this program, or the checkout that it was
// built from. Without all of them the project needs a replace directive, which init and its README tell of.
func (f *initFlags) findModule() error {
	if f.Lang != "go" {
		return nil
	}
	f.Version = moduleVersion()
	if f.Replace == "" {
		f.Replace = checkout()
		return nil
	}
	dir, err := filepath.Abs(f.Replace) // as this command's arguments are meant; go.mod would read it from the project
	if err != nil {
		return fmt.Errorf("init: %w", err)
	}
	f.Replace = dir
	return nil
}

// prepare is what a new project needs before it runs, as lines of a shell.
func (f *initFlags) prepare() string {
	switch {
	case f.Lang != "go":
		return "  npm install\n"
	case f.Replace == "" && f.Version == "":
		return "  go mod edit -replace=" + modulePath + "=../spky   # a checkout of spky, wherever it is: this build is of no published version\n  go mod tidy\n"
	}
	return "  go mod tidy\n"
}

// enter is the line that goes to a directory, as a shell reads it.
func enter(dir string) string {
	if dir == "." {
		return ""
	}
	if strings.ContainsAny(dir, " '\"$`\\") {
		dir = "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return "  cd " + dir + "\n"
}

// moduleVersion is the version of spky that a Go project requires: this program's, where it is one that
// a module proxy knows.
func moduleVersion() string {
	if fromCheckout() {
		return "" // what the compiler calls it is known to no proxy
	}
	if v := buildVersion().Version; v != "dev" {
		return v
	}
	return ""
}
