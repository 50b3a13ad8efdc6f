package main

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/devdb"
)

type devdbFlags struct {
	listen, data, user, passwordFrom string
	sync                             bool
}

func newDevdbCommand(p *program) *cobra.Command {
	var f devdbFlags
	cmd := &cobra.Command{
		Use:   "devdb",
		Short: "Run the embedded development database alone",
		Long: `Run the embedded development database alone, in the foreground: the engine of
SurrealDB on rocksdb, from npm, installed once into the cache of this user. Any
SurrealDB client can use it. It is for development and tests; production runs a
SurrealDB server.

Without --data everything is gone when it stops. The password comes from the
variable that --password-from-env names, and is root where that is not set.`,
		Example: `  spky devdb
  spky devdb --data ./data --listen 127.0.0.1:8000
  DEV_PASSWORD=… spky devdb --user admin --password-from-env DEV_PASSWORD`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return p.runDevdb(cmd.Context(), f, cmd.Flags().Changed("password-from-env"))
		},
	}
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8666", "where it listens; port 0 takes any free one")
	cmd.Flags().StringVar(&f.data, "data", "", "the directory of its files (default a temporary one)")
	cmd.Flags().StringVar(&f.user, "user", "", "the root user (default SPKY_DB_USER, or root)")
	cmd.Flags().StringVar(&f.passwordFrom, "password-from-env", "SPKY_DB_PASS", "the variable that holds the root user's password")
	cmd.Flags().BoolVar(&f.sync, "sync", false, "wait for the disk at every commit, as a production server does")
	_ = cmd.MarkFlagDirname("data") // the flag exists
	return cmd
}

func (p *program) runDevdb(ctx context.Context, f devdbFlags, named bool) error {
	password, set := p.env(f.passwordFrom)
	if named && (!set || password == "") {
		return usagef("--password-from-env names %s, which is not set", f.passwordFrom)
	}
	fromEnv, _ := p.env("SPKY_DB_USER")
	server, err := devdb.Start(ctx, devdb.Config{
		Listen: f.listen, Data: f.data, Sync: f.sync,
		User: cmp.Or(f.user, fromEnv), Password: password, Progress: p.err, Log: p.err,
	})
	if err != nil && ctx.Err() != nil {
		return nil //nolint:nilerr // stopped before it began
	}
	if err != nil {
		return err
	}
	p.introduceDevdb(server, f)
	select {
	case <-ctx.Done():
		fmt.Fprintln(p.err, "Stopping the database.")
		return server.Close()
	case <-server.Done():
		return server.Err()
	}
}

func (p *program) introduceDevdb(s *devdb.Server, f devdbFlags) {
	data := cmp.Or(f.data, "temporary, gone when it stops")
	password := s.Password()
	if password != "root" {
		password = "as given by " + f.passwordFrom
	}
	fmt.Fprintf(p.out, `The development database runs. It is not for production.

  URL       %s
  User      %s
  Password  %s
  Data      %s

  export SPKY_DB_URL=%s SPKY_DB_USER=%s
  spky migrate && spky run

Ctrl-C stops it.
`, s.URL(), s.User(), password, data, s.Endpoint(), s.User())
}
