package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// A NewJob is a job to be written.
type NewJob struct {
	// Table is the outbox table, Backend the backend whose table it goes to. One of them is needed where
	// there are several tables.
	Table, Backend string
	// ID is a key, or a whole record id of the table. Defaults to a random one.
	ID string
	// Path is the route to POST to, for instance /documents/index.
	Path string
	// Payload is JSON. Defaults to none.
	Payload json.RawMessage
	// MaxRetries is how many attempts at most, the first included. Defaults to what the table says.
	MaxRetries int
	// RetryStrategy is linear or exponential. Defaults to what the table says.
	RetryStrategy string
	// Timeout of an attempt in seconds, for a backend that lets jobs have their own. Defaults to the
	// backend's.
	Timeout int
	// Delay in milliseconds until it is due, at most 365 days.
	Delay int64
	// AssignedTo is the record that the job belongs to, such as user:ab12. Defaults to nobody.
	AssignedTo string
}

// MaxTimeout is how many seconds an attempt of a job may have at most.
const MaxTimeout = 3600

const maxDelay = 365 * 24 * 60 * 60 * 1000 // milliseconds

// Create writes a job and answers with its id. It runs once a node and the backend are there.
func (j *Jobs) Create(ctx context.Context, n NewJob) (string, error) {
	table, err := j.addressee(n)
	if err != nil {
		return "", err
	}
	content, id, err := j.draft(n, table)
	if err != nil {
		return "", err
	}
	traced(ctx, content)
	call := "INSERT INTO `" + table + "` $content RETURN VALUE id"
	made, err := audited[[]surreal.RecordID](ctx, j.db, "job.create", id, call, map[string]any{"content": content})
	switch {
	case surreal.IsAlreadyExists(err):
		return "", noteOutcome(ctx, j.db, "job.create", id, "refused: exists", fmt.Errorf("create %s: job %w", id, ErrExists))
	case surreal.IsValueRefused(err):
		return "", inputf("the table %s refuses it: %v", table, err)
	case err != nil:
		return "", fmt.Errorf("create job in %s: %w", table, err)
	case len(made) == 0:
		return "", fmt.Errorf("create job in %s: the table's permissions refuse it", table)
	}
	return surreal.FormatID(made[0]), nil
}

// addressee is the table that a job goes to.
func (j *Jobs) addressee(n NewJob) (string, error) {
	tables, err := j.chosen(n.Table, n.Backend)
	if err != nil {
		return "", err
	}
	if len(tables) > 1 {
		return "", inputf("there are several outbox tables, %s: name one", strings.Join(tables, ", "))
	}
	return tables[0], nil
}

// draft is the row of a new job, and its id, "" for one that the database chooses.
func (j *Jobs) draft(n NewJob, table string) (map[string]any, string, error) {
	if err := j.fits(n, table); err != nil {
		return nil, "", err
	}
	content := map[string]any{"path": n.Path}
	if len(n.Payload) > 0 {
		payload, err := surreal.FromJSON(n.Payload)
		if err != nil {
			return nil, "", inputf("payload: %v", err)
		}
		content["payload"] = payload
	}
	for column, value := range map[string]int64{"max_retries": int64(n.MaxRetries), "timeout": int64(n.Timeout), "delay": n.Delay} {
		if value > 0 {
			content[column] = value
		}
	}
	if n.RetryStrategy != "" {
		content["retry_strategy"] = n.RetryStrategy
	}
	if n.AssignedTo != "" {
		to, err := surreal.ParseID(n.AssignedTo)
		if err != nil {
			return nil, "", inputf("assigned_to is %q: %v", n.AssignedTo, err)
		}
		content["assigned_to"] = to
	}
	if n.ID == "" {
		return content, "", nil
	}
	id, err := (&Jobs{tables: []string{table}}).ID(n.ID)
	if err != nil {
		return nil, "", inputf("id %s is not of table %s", n.ID, table)
	}
	content["id"] = id
	return content, surreal.FormatID(id), nil
}

// fits refuses what the runner or the backend would refuse, before it is written. Theirs is the wall;
// this only saves a detour.
func (j *Jobs) fits(n NewJob, table string) error {
	switch {
	case n.MaxRetries < 0 || n.MaxRetries > outbox.MaxAttempts:
		return inputf("max_retries is %d; allowed: 1 to %d", n.MaxRetries, outbox.MaxAttempts)
	case n.RetryStrategy != "" && n.RetryStrategy != "linear" && n.RetryStrategy != "exponential":
		return inputf("retry_strategy is %q; allowed: linear, exponential", n.RetryStrategy)
	case n.Timeout < 0 || n.Timeout > MaxTimeout:
		return inputf("timeout is %d; allowed: 1 to %d seconds", n.Timeout, MaxTimeout)
	case n.Delay < 0 || n.Delay > maxDelay:
		return inputf("delay is %d; allowed: 0 to %d milliseconds, which are 365 days", n.Delay, maxDelay)
	}
	if err := checkPath(n.Path); err != nil {
		return inputf("path %v", err)
	}
	at := slices.IndexFunc(j.backends, func(b config.Backend) bool { return b.Table == table })
	if at < 0 {
		return nil
	}
	switch b := j.backends[at]; {
	case !b.AllowsPath(n.Path):
		return inputf("path %s is no POST route of %s; it has %s; method.allowAnyPath: true turns this check off", n.Path, b.Spec.File, strings.Join(b.Spec.Routes(), ", "))
	case n.Timeout > 0 && !b.TimeoutOverridable:
		return inputf("timeout has no effect on backend %s: set deploy.timeoutOverridable: true, or leave it out", b.Name)
	}
	return nil
}

func checkPath(path string) error {
	decoded, err := url.PathUnescape(strings.SplitN(path, "?", 2)[0])
	switch {
	case path == "":
		return errors.New("is missing; it is the route to POST to, for instance /documents/index")
	case !strings.HasPrefix(path, "/"), strings.HasPrefix(path, "//"):
		return fmt.Errorf("is %q; it has to start with one /, and names neither scheme nor host", path)
	case !utf8.ValidString(path) || utf8.RuneCountInString(path) > 2048:
		return errors.New("is longer than 2048 characters, or not UTF-8")
	case strings.ContainsAny(path, "@\\#") || strings.IndexFunc(path, unicode.IsControl) >= 0:
		return fmt.Errorf(`is %q; it must not contain @, \, # or control characters`, path)
	case err != nil:
		return fmt.Errorf("is %q; it has a broken %% escape", path)
	case slices.Contains(strings.Split(decoded, "/"), ".."):
		return fmt.Errorf("is %q; it must not contain a .. segment", path)
	case decoded == "/__spky" || strings.HasPrefix(decoded, "/__spky/"):
		return errors.New("leads to /__spky/, which is kept for the platform")
	}
	return nil
}
