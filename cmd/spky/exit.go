package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/migrate"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/surreal"
)

// The exit codes; see exitCodesHelp.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitState       = 4
	exitUnreachable = 5
	exitInterrupted = 130
)

const exitCodesHelp = `Exit codes

    0  it worked
    1  an error, or findings: a configuration with errors, a check that failed,
       a job or a workflow instance that ended otherwise than well
    2  wrong usage: an unknown command or flag, a missing or unusable argument
    3  what was asked for does not exist: a job, a workflow, an instance, a table
    4  the state of the job or instance does not allow it, for instance to retry
       one that runs
    5  the database or the admin API cannot be reached, or refuses the sign-in
  130  interrupted by Ctrl-C or a signal

spky run, spky dev and spky devdb end with 0 when a signal ends them: that is
how they are meant to end. A second signal ends them at once, with 130.

What goes wrong is written to standard error as "spky: …", with a line
"hint: …" that says what to do about it.`

// errFindings says that a command has printed what it found, and failed.
var errFindings = errors.New("there are findings")

// A usageError is a command line that cannot be meant.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usagef(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// A connectError is a database that could not be reached when a command began.
type connectError struct {
	err   error
	given bool // somebody chose the address
}

func (e *connectError) Error() string { return e.err.Error() }
func (e *connectError) Unwrap() error { return e.err }

// A fault is one row of the table that turns an error into an exit code and a
// remedy.
type fault struct {
	is   func(error) bool
	code int
	hint func(cmd *cobra.Command, err error) string
}

// faults is searched from the top; an error that no row knows ends with
// exitFailed.
func faults() []fault {
	return []fault{
		{as[*usageError], exitUsage, func(cmd *cobra.Command, _ error) string {
			return "`" + cmd.CommandPath() + " --help` shows how it is used"
		}},
		{as[*admin.InputError], exitUsage, func(cmd *cobra.Command, _ error) string {
			return "`" + cmd.CommandPath() + " --help` shows how it is used"
		}},
		{is(admin.ErrNotFound), exitNotFound, say("`spky workflows list` shows the workflows there are")},
		{is(admin.ErrStepNotFound), exitNotFound, say("nothing was changed; `spky workflows instances describe` shows the steps")},
		{as[*admin.StateError], exitState, say("`spky workflows instances describe` shows the instance")},
		{as[*connectError], exitUnreachable, hintConnect},
		{as[*client.UnreachableError], exitUnreachable, say("check --url or SPKY_ADMIN_URL, and that `spky run` or `spky dev` runs there")},
		{isSignIn, exitUnreachable, hintRemote},
		{as[*client.Error], exitFailed, hintRemote},
		{is(admin.ErrTooLarge), exitFailed, say(admin.HintTooLarge)},
		{surreal.IsUnreachable, exitUnreachable, say("check that the database runs, then try again; `spky doctor` looks closer")},
		{surreal.IsNotFound, exitNotFound, say("`spky migrate` creates the tables that the configuration names")},
		{as[*migrate.DriftError], exitFailed, say("restore the file and write a new migration, or accept the change without running it: `spky migrate apply --fix-checksums`")},
		{as[*devdb.StartError], exitFailed, hintDevdb},
		{is(config.ErrAppExists), exitFailed, say("choose another name with --name")},
	}
}

func as[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func is(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func say(text string) func(*cobra.Command, error) string {
	return func(*cobra.Command, error) string { return text }
}

// isSignIn reports an admin API that does not take the token.
func isSignIn(err error) bool {
	var e *client.Error
	return errors.As(err, &e) && e.Status == http.StatusUnauthorized
}

// hintRemote is the admin API's own hint.
func hintRemote(_ *cobra.Command, err error) string {
	var e *client.Error
	switch {
	case isSignIn(err):
		return "set SPKY_ADMIN_TOKEN; `spky token create` makes a token, `spky dev` prints one"
	case errors.As(err, &e):
		return e.Hint
	}
	return ""
}

func hintConnect(_ *cobra.Command, err error) string {
	var e *connectError
	switch {
	case surreal.IsAuth(err):
		return "give the credentials with SPKY_DB_USER and SPKY_DB_PASS"
	case errors.As(err, &e) && !e.given:
		return "`spky dev` starts a database there; --db-url or SPKY_DB_URL names another one"
	}
	return "check --db-url, SPKY_DB_URL or surrealdb.endpoint, and that the database runs"
}

func hintDevdb(_ *cobra.Command, err error) string {
	var e *devdb.StartError
	if !errors.As(err, &e) {
		return ""
	}
	switch e.Reason {
	case devdb.ReasonPort:
		return "stop what listens there, or choose another address: `spky devdb --listen 127.0.0.1:0` takes any free port"
	case devdb.ReasonLocked:
		return "stop the other process first, or choose another directory"
	case devdb.ReasonCredentials:
		return "give the user and password that the data was made with (SPKY_DB_USER, SPKY_DB_PASS); for a development database, `spky dev --clean` starts over"
	case devdb.ReasonData:
		return "choose a directory that can be written"
	}
	return ""
}

// report prints an error and answers with the exit code.
func (p *program) report(ctx context.Context, cmd *cobra.Command, err error) int {
	var invalid *config.InvalidError
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errFindings):
		return exitFailed
	case interrupted(ctx):
		return exitInterrupted
	case errors.As(err, &invalid):
		p.reportInvalid(invalid.Report)
		return exitFailed
	}
	code, remedy := exitFailed, ""
	for _, f := range faults() {
		if f.is(err) {
			code, remedy = f.code, f.hint(cmd, err)
			break
		}
	}
	if own := hint.Of(err); own != "" {
		remedy = own
	}
	all := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		all = several.Unwrap()
	}
	for _, one := range all {
		fmt.Fprintf(p.err, "spky: %s\n", visible(one.Error()))
	}
	if remedy != "" {
		fmt.Fprintf(p.err, "hint: %s\n", visible(remedy))
	}
	return code
}

// visible is text of several lines without other control characters: it may quote what somebody stored.
func visible(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = render.Printable(line)
	}
	return strings.Join(lines, "\n")
}

// reportInvalid prints all faults of a configuration.
func (p *program) reportInvalid(r config.Report) {
	fmt.Fprintf(p.err, "spky: read the configuration: %s\n", count(len(r.Errors), "error", "errors"))
	for _, f := range r.Errors {
		fmt.Fprintf(p.err, "  error: %s\n", f)
	}
	fmt.Fprintln(p.err, "hint: correct them; `spky lint` shows warnings as well")
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}
