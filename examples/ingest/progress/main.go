package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"golang.org/x/term"

	"sp00ky.cloud/spky/surreal"
)

// errUnfinished is an instance that ended otherwise than complete.
var errUnfinished = errors.New("the workflow did not complete")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	o, err := parse(os.Args[1:], os.Getenv, os.Stderr)
	if err != nil {
		os.Exit(2) //nolint:gocritic // stop has nothing to do yet
	}
	o.redraw = term.IsTerminal(int(os.Stdout.Fd()))
	err = run(ctx, o, os.Stdout)
	switch {
	case errors.Is(err, errUnfinished), ctx.Err() != nil:
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, "progress:", err)
		os.Exit(1)
	}
}

// options are what the command line says.
type options struct {
	db       surreal.Config
	document string
	// redraw moves one line instead of writing many.
	redraw bool
}

func parse(args []string, env func(string) string, errs io.Writer) (options, error) {
	or := func(name, otherwise string) string {
		if value := env(name); value != "" {
			return value
		}
		return otherwise
	}
	var o options
	var email, password string
	f := flag.NewFlagSet("progress", flag.ContinueOnError)
	f.SetOutput(errs)
	f.StringVar(&o.db.Endpoint, "db", or("SPKY_DB_URL", "ws://127.0.0.1:8666"), "the database")
	f.StringVar(&o.db.Namespace, "ns", or("SPKY_DB_NS", "main"), "its namespace")
	f.StringVar(&o.db.Database, "name", or("SPKY_DB_NAME", "main"), "its name")
	f.StringVar(&email, "email", "", "the user, who is signed up if need be (default a new one)")
	f.StringVar(&password, "password", "correct horse", "his password")
	f.StringVar(&o.document, "document", "", "a shipped text to make a material of: gettysburg, sonnet-18, sonnet-116 or tyger")
	if err := f.Parse(args); err != nil {
		return o, err
	}
	if f.NArg() > 0 {
		err := fmt.Errorf("%q is too much", f.Arg(0))
		fmt.Fprintln(errs, "progress:", err)
		return o, err
	}
	if email == "" {
		email = "reader-" + strings.ToLower(rand.Text()[:10]) + "@example.com"
	}
	o.db.Record = &surreal.RecordUser{Access: "account", Variables: map[string]any{"email": email, "password": password}, SignUp: true}
	return o, nil
}

// run signs in, asks for a material if it is to, and shows the instance until it ends.
func run(ctx context.Context, o options, out io.Writer) error {
	client, hangUp, err := surreal.Connect(ctx, o.db)
	if err != nil {
		return err
	}
	s := &screen{out: out, redraw: o.redraw}
	fmt.Fprintf(out, "signed in as %s\n", o.db.Record.Variables["email"])
	err = watch(ctx, client, o.document, s)
	s.end()
	return errors.Join(err, hangUp())
}
