package main

import (
	"strings"

	"github.com/spf13/cobra"
)

const rootHelp = `spky runs the jobs that applications write into SurrealDB.

A row in an outbox table is a job: spky claims it, calls the backend, retries
it, and writes the outcome back to the same row.

  spky dev                       database, runner and backends on this machine
  spky run                       the runner as a daemon, against a given database
  spky jobs create --path /x     write a job
  spky jobs list                 see what became of it`

const globalHelp = `
Global flags win over the environment, which wins over sp00ky.yml:
  SPKY_DB_URL  SPKY_DB_NS  SPKY_DB_NAME  SPKY_DB_USER  SPKY_DB_PASS
  SPKY_SSP_LISTEN_ADDR  SPKY_ADMIN_HOST  SPKY_ADMIN_PORT  SPKY_LOG_LEVEL
  SPKY_LOG_FORMAT  SPKY_ADMIN_URL  SPKY_ADMIN_TOKEN`

// newRootCommand is the whole command line.
func newRootCommand(p *program) *cobra.Command {
	root := &cobra.Command{
		Use:               "spky",
		Short:             "Jobs and durable workflows beside SurrealDB",
		Long:              rootHelp + "\n" + globalHelp,
		Version:           buildVersion().Version,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: false},
	}
	groupOnly(root)
	root.SetVersionTemplate("spky {{.Version}}\n")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usagef("%v", err) })
	p.addGlobalFlags(root)
	root.AddGroup(&cobra.Group{ID: "run", Title: "Run it:"}, &cobra.Group{ID: "project", Title: "The project:"}, &cobra.Group{ID: "look", Title: "Look and act:"})
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("run", newDevCommand(p), newRunCommand(p), newDevdbCommand(p))
	add("project", newInitCommand(p), newMigrateCommand(p), newLintCommand(p), newDoctorCommand(p), newAddCommand(p), newAPICommand(p))
	add("look", newJobsCommand(p), newWorkflowsCommand(p), newExplainCommand(p), newSchedulesCommand(p), newDAGCommand(p), newNodesCommand(p), newStatsCommand(p), newTokenCommand(p), newMCPCommand(p), newLogsCommand(p), newBenchCommand(p), newVersionCommand(p))
	root.AddCommand(newGuardCommand(p), &cobra.Command{Use: "exit-codes", Short: "What the exit codes mean", Long: exitCodesHelp, Args: takes(0)})
	return root
}

func (p *program) addGlobalFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&p.flags.config, "config", "", "the configuration file (default sp00ky.yml)")
	f.StringVar(&p.flags.db.Endpoint, "db-url", "", "the database, for instance ws://127.0.0.1:8000")
	f.StringVar(&p.flags.db.Namespace, "ns", "", "the namespace (default main)")
	f.StringVar(&p.flags.db.Database, "db", "", "the database's name (default main)")
	f.StringVar(&p.flags.db.Username, "db-user", "", "the database user (default root)")
	f.StringVar(&p.flags.db.Password, "db-pass", "", "its password; prefer SPKY_DB_PASS, which no list of processes shows")
	f.StringVar(&p.flags.db.Listen, "listen", "", "where the runner listens (default 127.0.0.1:8667)")
	f.StringVar(&p.flags.db.LogLevel, "log-level", "", "trace, debug, info, warn, error or off, also for one part: info,ssp=debug")
	f.StringVar(&p.flags.db.AdminListen, "admin-listen", "", "where the admin API listens (default 127.0.0.1:9668)")
	f.StringVar(&p.flags.adminURL, "url", "", "look and act through the admin API at this URL instead of the database; the token is SPKY_ADMIN_TOKEN")
	f.StringVar(&p.flags.logFormat, "log-format", "", "text, json, or auto: text on a terminal")
	complete(root, "log-format", "text", "json", "auto")
	complete(root, "log-level", "trace", "debug", "info", "warn", "error", "off")
	_ = root.MarkPersistentFlagFilename("config", "yml", "yaml") // the flag exists
}

// complete offers fixed words for a flag.
func complete(cmd *cobra.Command, flag string, words ...string) {
	// The flag exists: it is defined next to the call.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// groupOnly makes a command that has only sub-commands: it shows its help, and
// refuses a word it does not know.
func groupOnly(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		near := ""
		if similar := c.SuggestionsFor(args[0]); len(similar) > 0 {
			near = "; did you mean " + strings.Join(similar, " or ") + "?"
		}
		return usagef("%sunknown command %q%s", what(c), args[0], near)
	}
	cmd.SuggestionsMinimumDistance = 2
}

// takes checks how many arguments a command gets, and names them when there are
// too few.
func takes(least int, names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usagef("%s%s is missing", what(cmd), names[len(args)])
		case len(args) > len(names):
			return usagef("%s%q is one argument too many", what(cmd), args[len(names)])
		}
		return nil
	}
}

// what is the command as errors begin with it: "jobs get: ", "" for the program
// itself.
func what(cmd *cobra.Command) string {
	_, path, ok := strings.Cut(cmd.CommandPath(), " ")
	if !ok {
		return ""
	}
	return path + ": "
}
