package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

// A build is what the program knows of itself.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Time     string `json:"time,omitempty"`
	Go       string `json:"go"`
	Module   string `json:"module"`
	Platform string `json:"platform"`
}

const modulePath = "sp00ky.cloud/spky"

// buildVersion reads what the compiler noted. A build of a checkout without
// tags is "dev".
func buildVersion() build {
	b := build{Version: "dev", Go: runtime.Version(), Module: modulePath, Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	if info.Main.Path != "" {
		b.Module = info.Main.Path
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Commit = setting.Value
		case "vcs.modified":
			b.Modified = setting.Value == "true"
		case "vcs.time":
			b.Time = setting.Value
		}
	}
	return b
}

func newVersionCommand(p *program) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the commit and the Go version",
		Args:  takes(0),
		RunE: func(*cobra.Command, []string) error {
			b := buildVersion()
			if asJSON {
				return render.JSON(p.out, b)
			}
			fmt.Fprintf(p.out, "spky %s\n", b.Version)
			if b.Commit != "" {
				modified := ""
				if b.Modified {
					modified = ", with changes"
				}
				fmt.Fprintf(p.out, "commit %s%s (%s)\n", b.Commit, modified, b.Time)
			}
			fmt.Fprintf(p.out, "%s, %s, %s\n", b.Module, b.Go, b.Platform)
			return nil
		},
	}
	jsonFlag(cmd, &asJSON)
	return cmd
}

// jsonFlag adds --json to a command that reads.
func jsonFlag(cmd *cobra.Command, into *bool) {
	cmd.Flags().BoolVar(into, "json", false, "print JSON")
}
