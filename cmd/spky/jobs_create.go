package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/cmd/spky/internal/cluster"
	"sp00ky.cloud/spky/cmd/spky/internal/follow"
	"sp00ky.cloud/spky/cmd/spky/internal/hint"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

type createFlags struct {
	table, backend, path, payload, id string
	retries                           int
	strategy                          string
	delay, timeout, assignedTo        string
	wait, json                        bool
}

func newJobsCreateCommand(p *program) *cobra.Command {
	f := createFlags{}
	cmd := &cobra.Command{
		Use:   "create",
		Short: "Write a job",
		Long: `Write a job: a row in an outbox table. The runner POSTs its payload to the path at
its backend.

The payload is JSON: in the argument, in a file (@file), or on standard input (-).

With --wait the command ends when the job is finished, with exit code 0 when it
succeeded and 1 when it failed or was cancelled.`,
		Example: `  spky jobs create --path /documents/index --payload '{"id": 1}'
  spky jobs create --backend mail --path /send --payload @mail.json --delay 10m --wait
  echo '{"n": 1}' | spky jobs create --path /count --payload - --max-retries 10 --retry-strategy exponential`,
		Args: takes(0),
		RunE: func(cmd *cobra.Command, _ []string) error { return p.createJob(cmd.Context(), f) },
	}
	p.tableFlag(cmd, &f.table)
	flags := cmd.Flags()
	flags.StringVar(&f.backend, "backend", "", "the backend whose outbox table it goes to")
	flags.StringVar(&f.path, "path", "", "the route to POST to, for instance /documents/index (required)")
	flags.StringVar(&f.payload, "payload", "", "the body: JSON, @file, or - for standard input (default null)")
	flags.StringVar(&f.id, "id", "", "the id of the job (default a random one)")
	flags.IntVar(&f.retries, "max-retries", 0, "how many attempts at most, the first included (default that of the table, 3)")
	flags.StringVar(&f.strategy, "retry-strategy", "", "how the wait between attempts grows: linear or exponential")
	flags.StringVar(&f.delay, "delay", "", "how long to wait before the first attempt: 3s, 10m, or a number of milliseconds")
	flags.StringVar(&f.timeout, "timeout", "", "for one attempt: 30s, or a number of seconds; needs deploy.timeoutOverridable")
	flags.StringVar(&f.assignedTo, "assigned-to", "", "the record that the job belongs to, for instance user:ab12")
	flags.BoolVar(&f.wait, "wait", false, "wait until the job is finished")
	jsonFlag(cmd, &f.json)
	complete(cmd, "retry-strategy", "linear", "exponential")
	_ = cmd.RegisterFlagCompletionFunc("backend", p.completeFrom(func(cfg *config.Config) []string {
		var names []string
		for _, b := range cfg.Backends {
			names = append(names, b.Name)
		}
		return names
	}))
	return cmd
}

func (p *program) createJob(ctx context.Context, f createFlags) error {
	draft, err := p.draft(f)
	if err != nil {
		return err
	}
	return p.withJobs(ctx, f.table, func(d *desk) error {
		table, backend, err := d.addressee(f)
		if err != nil {
			return err
		}
		if err := fits(backend, f); err != nil {
			return err
		}
		if f.id != "" {
			d.tables = []string{table}
			if draft.ID, err = d.id(f.id); err != nil {
				return err
			}
			if draft.ID.Table != table {
				return usagef("--id %s is not of table %s", f.id, table)
			}
		}
		id, err := d.table(table).Create(ctx, draft)
		if surreal.IsAlreadyExists(err) {
			return hint.Wrap(err, "choose another --id, or `spky jobs retry %s`", surreal.FormatID(draft.ID))
		}
		if err != nil {
			return err
		}
		return p.created(ctx, d, id, f)
	})
}

// draft reads the flags that need no configuration.
func (p *program) draft(f createFlags) (outbox.Draft, error) {
	draft := outbox.Draft{Path: f.path, Columns: map[string]any{}}
	if err := checkPath(f.path); err != nil {
		return draft, usagef("--path %v", err)
	}
	var err error
	if draft.Payload, err = p.payload(f.payload); err != nil {
		return draft, err
	}
	if f.retries < 0 || f.retries > outbox.MaxAttempts {
		return draft, usagef("--max-retries is %d; allowed: 1 to %d", f.retries, outbox.MaxAttempts)
	}
	if f.retries > 0 {
		draft.Columns["max_retries"] = f.retries
	}
	switch f.strategy {
	case "":
	case "linear", "exponential":
		draft.Columns["retry_strategy"] = f.strategy
	default:
		return draft, usagef("--retry-strategy is %q; allowed: linear, exponential", f.strategy)
	}
	for _, span := range []struct {
		flag, text, column string
		unit, most         time.Duration
	}{
		{"--delay", f.delay, "delay", time.Millisecond, 365 * 24 * time.Hour},
		{"--timeout", f.timeout, "timeout", time.Second, time.Hour},
	} {
		if span.text == "" {
			continue
		}
		d, err := duration(span.text, span.unit, span.most)
		if err != nil {
			return draft, usagef("%s %v", span.flag, err)
		}
		draft.Columns[span.column] = int64((d + span.unit - 1) / span.unit)
	}
	if f.assignedTo != "" {
		owner, err := surreal.ParseID(f.assignedTo)
		if err != nil {
			return draft, usagef("--assigned-to: %v", err)
		}
		draft.Columns["assigned_to"] = owner
	}
	return draft, nil
}

// duration reads 3s, or a plain number of units.
func duration(text string, unit, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, numErr := strconv.ParseInt(text, 10, 64); numErr == nil && n >= 0 && n <= int64(most/unit) {
		d, err = time.Duration(n)*unit, nil
	}
	if err != nil || d < 0 || d > most {
		return 0, fmt.Errorf("is %q; allowed: 0 to %s, as in 1500ms, 3s or 1h30m, or a whole number of %s", text, most, map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}[unit])
	}
	return d, nil
}

// maxPayload bounds what is read from a file or standard input.
const maxPayload = 16 << 20

func (p *program) payload(arg string) (any, error) {
	text, err := p.argument("--payload", arg)
	if err != nil || len(text) == 0 && arg == "" {
		return surreal.None, err
	}
	value, err := surreal.FromJSON(text)
	if err != nil {
		return nil, usagef("%s: %v", named("--payload", arg), err)
	}
	return value, nil
}

// argument is what stands in an argument, in the file @name that it names, or, for -, on standard
// input.
func (p *program) argument(what, arg string) ([]byte, error) {
	text := []byte(arg)
	switch {
	case arg == "-":
		read, err := io.ReadAll(io.LimitReader(p.in, maxPayload+1))
		if err != nil {
			return nil, fmt.Errorf("read %s from standard input: %w", what, err)
		}
		text = read
	case strings.HasPrefix(arg, "@"):
		read, err := os.ReadFile(arg[1:])
		if err != nil {
			return nil, usagef("%s: %v", what, err)
		}
		text = read
	}
	if len(text) > maxPayload {
		return nil, usagef("%s is larger than %d MiB", named(what, arg), maxPayload>>20)
	}
	return text, nil
}

// named says where an argument's text is from.
func named(what, arg string) string {
	switch {
	case arg == "-":
		return what + " on standard input"
	case strings.HasPrefix(arg, "@"):
		return what + " in " + arg[1:]
	}
	return what
}

// addressee finds the table a job goes to, and its backend where the
// configuration has one.
func (d *desk) addressee(f createFlags) (string, *config.Backend, error) {
	if f.backend != "" {
		b, ok := d.cfg.Backend(f.backend)
		switch {
		case !ok:
			return "", nil, usagef("--backend: %s has no backend %q", d.cfg.File, f.backend)
		case b.Table == "":
			return "", nil, usagef("--backend: %s has no outbox table", f.backend)
		case f.table != "" && f.table != b.Table:
			return "", nil, usagef("--backend %s has the table %s, and --table says %s", f.backend, b.Table, f.table)
		}
		return b.Table, &b, nil
	}
	table, err := d.only()
	if err != nil {
		return "", nil, err
	}
	for _, b := range d.cfg.Backends {
		if b.Table == table {
			return table, &b, nil
		}
	}
	return table, nil, nil
}

// fits refuses what the backend would refuse.
func fits(b *config.Backend, f createFlags) error {
	if b == nil {
		return nil
	}
	if !b.AllowsPath(f.path) {
		return hint.Wrap(usagef("--path %s is no POST route of %s", f.path, b.Spec.File),
			"it has %s; method.allowAnyPath: true turns this check off", joined(b.Spec.Routes()))
	}
	if f.timeout != "" && !b.TimeoutOverridable {
		return hint.Wrap(usagef("--timeout has no effect on backend %s", b.Name), "set deploy.timeoutOverridable: true, or leave it out")
	}
	return nil
}

// created tells the id, and waits for the end if asked to.
func (p *program) created(ctx context.Context, d *desk, id surreal.RecordID, f createFlags) error {
	if !f.json {
		fmt.Fprintf(p.out, "created %s\n", surreal.FormatID(id))
	}
	if !f.wait {
		if f.json {
			return render.JSON(p.out, map[string]string{"id": surreal.FormatID(id)})
		}
		fmt.Fprintf(p.err, "hint: `spky jobs get %s` shows what becomes of it\n", shellQuote(surreal.FormatID(id)))
		return nil
	}
	p.warnOfIdleness(ctx, d, id.Table)
	w := &watcher{p: p}
	tell := w.print
	if f.json {
		tell = func(follow.Change) error { return nil }
	}
	end, err := follow.Job(ctx, d.db, id, tell)
	if err != nil {
		return err
	}
	return p.ended(end, f.json)
}

func (p *program) ended(end follow.Change, asJSON bool) error {
	if end.Deleted() {
		return errors.New("wait: the job was deleted")
	}
	var err error
	if asJSON {
		err = render.Rows(p.out, end.Row)
	} else {
		err = p.printJob(end.Row)
	}
	if err == nil && end.Status != outbox.Success {
		return errFindings
	}
	return err
}

// warnOfIdleness says when nobody will run the job. It is a courtesy: what goes
// wrong with it is no fault.
func (p *program) warnOfIdleness(ctx context.Context, d *desk, table string) {
	nodes, _, err := cluster.Nodes(ctx, d.db)
	if err == nil && cluster.Living(nodes, table) == 0 {
		fmt.Fprintf(p.err, "spky: no node runs the jobs of %s now; waiting for one\nhint: `spky dev` or `spky run` starts one\n", table)
	}
}
