package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp/dag"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
)

// ExplainConfig says where jobs and workflows live.
type ExplainConfig struct {
	// DB is a connection of a user who may read the platform's tables and the outbox tables.
	DB *surreal.Client
	// Backends are those of the configuration. Without them nothing is said about what it lacks.
	Backends []config.Backend
	// Tables are the outbox tables in which a job is looked for that is named by its key alone. Defaults to
	// those of Backends.
	Tables []string
	// Redact says what texts of errors are not to show.
	Redact redact.Rules
}

// An Explainer says why a job, an instance, a run of a DAG or a schedule is not running, from its row, from what the nodes tell of
// themselves, and by the database's clock. It changes nothing, and its methods may be called from any
// goroutine.
type Explainer struct {
	db       *surreal.Client
	backends []config.Backend
	tables   []string
	hider    hider
}

// NewExplainer makes it; nothing is sent.
func NewExplainer(cfg ExplainConfig) *Explainer {
	e := &Explainer{db: cfg.DB, backends: cfg.Backends, tables: cfg.Tables, hider: hider{db: cfg.DB, rules: cfg.Redact}}
	if len(e.tables) > 0 {
		return e
	}
	for _, b := range cfg.Backends {
		if b.Table != "" && !slices.Contains(e.tables, b.Table) {
			e.tables = append(e.tables, b.Table)
		}
	}
	return e
}

// An Explanation is why a job, an instance, a run of a DAG or a schedule is in the state it is in.
type Explanation struct {
	// Subject is its id or name. Kind is job, instance, run or schedule; DAGs are schedules.
	Subject string `json:"subject"`
	Kind    string `json:"kind"`
	// State is its status; missing where there is no such row, unknown where the status is no text.
	State string `json:"state"`
	// Summary is the state and the most important cause, as one line.
	Summary string `json:"summary"`
	// Causes are all that hold, the most important first. There is always one.
	Causes []Cause `json:"causes"`
}

// A Cause is one reason. Sentence and Remedy are for people; what they quote of rows is in quotes, cut,
// and free of control characters. Whoever decides by machine takes Code and Facts.
type Cause struct {
	Code     string         `json:"code"`
	Sentence string         `json:"sentence"`
	Facts    map[string]any `json:"facts,omitempty"`
	// Remedy is what can be done: often a command to type. "" where there is nothing to do but wait.
	Remedy string `json:"remedy,omitempty"`
}

// What an explanation explains.
const (
	kindJob      = "job"
	kindInstance = "instance"
	kindRun      = "run"
	kindSchedule = "schedule"
	stateMissing = "missing"
	stateUnknown = "unknown"
)

// explained puts an explanation together.
func explained(kind, subject, state string, causes []Cause) Explanation {
	return Explanation{
		Subject: subject, Kind: kind, State: printable(state), Causes: causes,
		Summary: fmt.Sprintf("%s is %s. %s", printable(subject), printable(state), causes[0].Sentence),
	}
}

// Job explains a job, named by its record id, or by its key alone where there is a single outbox table.
// Of one that does not exist the explanation says so, beside ErrNotFound.
func (e *Explainer) Job(ctx context.Context, id string) (Explanation, error) {
	record, err := e.jobID(id)
	if err != nil {
		return Explanation{}, err
	}
	f, err := e.jobFacts(ctx, record)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain %s: %w", surreal.FormatID(record), err)
	}
	if !f.found {
		missing := explained(kindJob, f.subject(), stateMissing, []Cause{f.missing()})
		return missing, fmt.Errorf("explain %s: job %w", f.subject(), ErrNotFound)
	}
	causes := f.causes()
	if run, ok := dag.RunOf(record.ID); ok {
		c, ok, err := e.ofRun(ctx, record, run)
		if err != nil {
			return Explanation{}, fmt.Errorf("explain %s: %w", f.subject(), err)
		}
		if ok {
			causes = append(causes, c)
		}
	}
	return explained(kindJob, f.subject(), cmp.Or(f.row.Status, stateUnknown), causes), nil
}

// Instance explains an instance, and the job that is to run it. Of one that does not exist the explanation
// says so, beside ErrNotFound.
func (e *Explainer) Instance(ctx context.Context, id string) (Explanation, error) {
	f, err := e.instanceFacts(ctx, id)
	if err != nil {
		return Explanation{}, fmt.Errorf("explain instance %s: %w", id, err)
	}
	if !f.found {
		missing := explained(kindInstance, id, stateMissing, []Cause{f.missing()})
		return missing, fmt.Errorf("explain instance %s: %w", id, ErrNotFound)
	}
	return explained(kindInstance, id, string(f.row.Status), f.causes()), nil
}

// Any explains the instance of that id, or else the job, the run of a DAG, or the schedule or DAG of that name.
func (e *Explainer) Any(ctx context.Context, id string) (Explanation, error) {
	return AnyOf(ctx, id, e.jobOrInstance, e.Run, e.Schedule)
}

// AnyOf asks one after another to explain what is called so, until one knows it. Otherwise the first answer holds.
func AnyOf(ctx context.Context, id string, all ...func(context.Context, string) (Explanation, error)) (Explanation, error) {
	first, firstErr := all[0](ctx, id)
	if malformed := new(*InputError); firstErr == nil || !errors.Is(firstErr, ErrNotFound) && !errors.As(firstErr, malformed) {
		return first, firstErr
	}
	for _, explain := range all[1:] {
		if found, err := explain(ctx, id); !errors.Is(err, ErrNotFound) {
			return found, err
		}
	}
	return first, firstErr
}

func (e *Explainer) jobOrInstance(ctx context.Context, id string) (Explanation, error) {
	record, err := surreal.ParseID(id)
	if err == nil && record.Table == instanceTable {
		return e.Instance(ctx, key(record))
	}
	if !idPattern.MatchString(id) {
		return e.Job(ctx, id)
	}
	instance, err := e.Instance(ctx, id)
	if len(e.tables) != 1 || !errors.Is(err, ErrNotFound) {
		return instance, err
	}
	job, jobErr := e.Job(ctx, id)
	if errors.Is(jobErr, ErrNotFound) {
		return instance, err
	}
	return job, jobErr
}

// outboxName is how an outbox table may be called.
var outboxName = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)

// jobID reads a job's id as people write it: whole, or the key alone; also with a key that would need
// quotes and has none, such as job:a-b.
func (e *Explainer) jobID(text string) (surreal.RecordID, error) {
	id, err := surreal.ParseID(text)
	if err == nil {
		if !outboxName.MatchString(id.Table) {
			return id, inputf("%s is no job: an outbox table's name has lower-case letters, digits and _", printable(text))
		}
		return id, nil
	}
	if m := jobIDPrefix.FindStringSubmatch(text); m != nil {
		return surreal.RecordID{Table: m[1], ID: m[2]}, nil
	}
	if text == "" || len(e.tables) != 1 {
		return id, inputf("job %s: name it by table and key, such as job:ab12; a key alone needs a single outbox table", quote(text))
	}
	if id, err := surreal.ParseID(e.tables[0] + ":" + text); err == nil {
		return id, nil
	}
	return surreal.RecordID{Table: e.tables[0], ID: text}, nil
}

// isOutbox says whether a table holds jobs: it is one of the configuration, or has a column of the
// runner's. Of other tables nothing is told.
func (e *Explainer) isOutbox(ctx context.Context, table string) (bool, error) {
	if slices.Contains(e.tables, table) {
		return true, nil
	}
	info, err := surreal.First[struct {
		Fields map[string]string `json:"fields"`
	}](ctx, e.db, "INFO FOR TABLE `"+table+"`", nil)
	if surreal.IsNotFound(err) {
		return false, nil
	}
	_, ok := info.Fields["lease_epoch"]
	return ok, err
}

// box is the outbox table of that name.
func (e *Explainer) box(name string) *outbox.Table {
	return outbox.New(outbox.Config{DB: e.db, Name: name})
}
