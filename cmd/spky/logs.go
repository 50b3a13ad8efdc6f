package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/admin/logs"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

type logsFlags struct {
	filter logs.Filter
	follow bool
	json   bool
}

func newLogsCommand(p *program) *cobra.Command {
	var f logsFlags
	cmd := &cobra.Command{
		Use:   "logs",
		Short: "Show the newest log lines of a running spky, through its admin API",
		Long: `Show the newest log lines of a running spky run or spky dev. Each process keeps
its last 2000 lines in memory, so this needs its admin API: --url or
SPKY_ADMIN_URL, and SPKY_ADMIN_TOKEN.`,
		Example: "  spky logs --url http://127.0.0.1:9668\n  spky logs --follow --level warn --source ssp",
		Args:    takes(0),
		RunE:    func(cmd *cobra.Command, _ []string) error { return p.showLogs(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Level, "level", "", "the lowest level: "+joined(logs.Levels()))
	flags.StringVar(&f.filter.Source, "source", "", "only lines of this package, for instance ssp")
	flags.StringVar(&f.filter.Query, "query", "", "only lines with this in their message")
	flags.IntVar(&f.filter.Limit, "limit", 100, "how many of the lines that are kept at most")
	flags.BoolVarP(&f.follow, "follow", "f", false, "go on with new lines until interrupted")
	complete(cmd, "level", logs.Levels()...)
	jsonFlag(cmd, &f.json)
	return cmd
}

func (p *program) showLogs(ctx context.Context, f logsFlags) error {
	switch {
	case f.filter.Level != "" && !slices.Contains(logs.Levels(), f.filter.Level):
		return usagef("--level is %q; allowed: %s", f.filter.Level, joined(logs.Levels()))
	case f.filter.Limit < 1 || f.filter.Limit > admin.MaxPage:
		return usagef("--limit is %d; allowed: 1 to %d", f.filter.Limit, admin.MaxPage)
	}
	remote, err := p.remote()
	if err != nil {
		return err
	}
	if remote == nil {
		return hint.Wrap(errors.New("logs: no admin API is named, and the log is kept by the process that writes it"),
			"name it: `spky logs --url http://127.0.0.1:9668`, with the token in SPKY_ADMIN_TOKEN")
	}
	if f.follow {
		return p.followLogs(ctx, remote.Logs(), f)
	}
	lines, err := remote.Logs().Recent(ctx, f.filter)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if err := p.printLog(line, f.json); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) followLogs(ctx context.Context, l *client.Logs, f logsFlags) error {
	return l.Follow(ctx, f.filter, func(line logs.Line) error { return p.printLog(line, f.json) })
}

// printLog writes a line as the runner's own log looks on a terminal.
func (p *program) printLog(l logs.Line, asJSON bool) error {
	if asJSON {
		return render.JSONLine(p.out, l)
	}
	style := render.StyleFor(p.out, p.env)
	level := map[string]string{"error": style.Red("ERROR"), "warn": style.Yellow("WARN "), "info": style.Green("INFO ")}[l.Level]
	if level == "" {
		level = style.Dim(strings.ToUpper(l.Level))
	}
	var attributes strings.Builder
	for _, name := range slices.Sorted(maps.Keys(l.Attributes)) {
		fmt.Fprintf(&attributes, " %s=%s", render.Printable(name), shellQuote(render.Printable(strings.TrimSpace(l.Attributes[name]))))
	}
	_, err := fmt.Fprintf(p.out, "%s %s %s%s\n", style.Dim(l.At.Local().Format("15:04:05.000")), level, render.Printable(l.Message), attributes.String())
	return err
}
