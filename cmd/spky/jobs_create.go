package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/admin"
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
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("max-retries") && f.retries == 0 { // which is as good as none further on
				return usagef("--max-retries is 0; allowed: 1 to %d", outbox.MaxAttempts)
			}
			return p.createJob(cmd.Context(), f)
		},
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
	_ = cmd.RegisterFlagCompletionFunc("backend", p.completeFrom(backendNames))
	return cmd
}

func (p *program) createJob(ctx context.Context, f createFlags) error {
	n, err := p.draft(f)
	if err != nil {
		return err
	}
	return p.withJobs(ctx, f.table, nil, func(d *desk) error {
		id, err := d.jobs.Create(ctx, n)
		switch {
		case errors.Is(err, admin.ErrExists):
			return hint.Wrap(err, "choose another --id, or `spky jobs retry` that one")
		case err != nil:
			return flagged(err)
		}
		return p.created(ctx, d, id, f)
	})
}

// flagged speaks of a flag where an input error begins with a column.
func flagged(err error) error {
	var input *admin.InputError
	if !errors.As(err, &input) {
		return err
	}
	word, rest, _ := strings.Cut(input.Error(), " ")
	for _, column := range []string{"path", "payload", "id", "max_retries", "retry_strategy", "timeout", "delay", "assigned_to"} {
		if strings.TrimSuffix(word, ":") == column {
			return usagef("--%s %s", strings.ReplaceAll(word, "_", "-"), rest)
		}
	}
	return err
}

// draft reads the flags.
func (p *program) draft(f createFlags) (admin.NewJob, error) {
	n := admin.NewJob{Table: f.table, Backend: f.backend, ID: f.id, Path: f.path, MaxRetries: f.retries, RetryStrategy: f.strategy, AssignedTo: f.assignedTo}
	var err error
	if n.Payload, err = p.payload(f.payload); err != nil {
		return n, err
	}
	delay, err := span("--delay", f.delay, time.Millisecond, 0, 365*24*time.Hour)
	if err != nil {
		return n, err
	}
	timeout, err := span("--timeout", f.timeout, time.Second, time.Second, time.Hour)
	n.Delay, n.Timeout = delay, int(timeout)
	return n, err
}

// span reads a flag that is a duration, in whole units.
func span(flag, text string, unit, least, most time.Duration) (int64, error) {
	if text == "" {
		return 0, nil
	}
	d, err := duration(text, unit, least, most)
	if err != nil {
		return 0, usagef("%s %v", flag, err)
	}
	return int64((d + unit - 1) / unit), nil
}

// duration reads 3s, or a plain number of units, of least to most.
func duration(text string, unit, least, most time.Duration) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if n, numErr := strconv.ParseInt(text, 10, 64); numErr == nil && n >= 0 && n <= int64(most/unit) {
		d, err = time.Duration(n)*unit, nil
	}
	if err != nil || d < least || d > most {
		return 0, fmt.Errorf("is %q; allowed: %s to %s, as in 1500ms, 3s or 1h30m, or a whole number of %s", text, least, most, map[time.Duration]string{time.Millisecond: "milliseconds", time.Second: "seconds"}[unit])
	}
	return d, nil
}

// maxPayload bounds what is read from a file or standard input.
const maxPayload = 16 << 20

func (p *program) payload(arg string) (json.RawMessage, error) {
	text, err := p.argument("--payload", arg)
	if err != nil || len(text) == 0 && arg == "" {
		return nil, err
	}
	if _, err := surreal.FromJSON(text); err != nil {
		return nil, usagef("%s: %v", named("--payload", arg), err)
	}
	return text, nil
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

// created tells the id, and waits for the end if asked to.
func (p *program) created(ctx context.Context, d *desk, id string, f createFlags) error {
	if !f.json {
		fmt.Fprintf(p.out, "created %s\n", id)
	}
	if !f.wait {
		if f.json {
			return render.JSON(p.out, map[string]string{"id": id})
		}
		fmt.Fprintf(p.err, "hint: `spky jobs get %s` shows what becomes of it\n", shellQuote(id))
		return nil
	}
	p.warnOfIdleness(ctx, d, id)
	w := &watcher{p: p, quiet: f.json}
	end, deleted, err := w.job(ctx, d, id)
	switch {
	case deleted:
		return errors.New("wait: the job was deleted")
	case err != nil:
		return err
	}
	if err := p.showJob(end, f.json); err != nil {
		return err
	}
	if end.Status != outbox.Success {
		return errFindings
	}
	return nil
}

// warnOfIdleness says when nobody will run the job. It is a courtesy: what goes
// wrong with it is no fault.
func (p *program) warnOfIdleness(ctx context.Context, d *desk, id string) {
	table, _, _ := strings.Cut(id, ":")
	nodes, err := d.cluster.Nodes(ctx)
	if err == nil && !admin.Served(nodes, table) {
		fmt.Fprintf(p.err, "spky: no node runs the jobs of %s now; waiting for one\nhint: `spky dev` or `spky run` starts one\n", table)
	}
}

func backendNames(cfg *config.Config) []string {
	var names []string
	for _, b := range cfg.Backends {
		names = append(names, b.Name)
	}
	return names
}
