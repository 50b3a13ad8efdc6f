package dag

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/surreal"
)

// maxReason bounds why a step did not become a job, in bytes.
const maxReason = 500

//go:embed surql/due.surql
var dueStatement string

// A Store is the runs of a database. It has no state, and may be used from any goroutine.
type Store struct {
	// DB has to repeat what meets another transaction: [surreal.Client.Retrying].
	DB surreal.Querier
}

// RunOf is the run that a job belongs to, by the key of the job's id; false where it is none of a run's.
func RunOf(key any) (string, bool) {
	text, _ := key.(string)
	rest, ok := strings.CutPrefix(text, "wf_")
	run, _, more := strings.Cut(rest, "_") // no run has a _ in its id
	if !ok || !more || run == "" {
		return "", false
	}
	return run, true
}

// A Due says what is to be done.
type Due struct {
	// Runs are those to advance.
	Runs []string `json:"runs"`
	// Going says that there is a run that is not over.
	Going bool `json:"going"`
}

// Due looks for runs that nobody has gone on with.
func (s Store) Due(ctx context.Context) (Due, error) {
	due, err := surreal.First[Due](ctx, s.DB, dueStatement, nil)
	if err != nil {
		return Due{}, fmt.Errorf("look for runs: %w", err)
	}
	return due, nil
}

// A Forward is what Advance came to.
type Forward struct {
	// Ended is what the run came to: success, failed or killed; "" where it goes on, or was over before.
	Ended string
	// Workflow is the DAG of a run that ended.
	Workflow string
}

// Advance goes on with a run: it notes what became of its jobs, makes jobs of the steps that may begin, and
// ends the run where nothing is left. A run that is over, or that there is not, it leaves alone. A step whose
// job the table refuses has failed. Only where the database is away, or too busy, there is an error.
func (s Store) Advance(ctx context.Context, run string) (Forward, error) {
	answer, err := s.advance(ctx, run, true)
	if err != nil && !passing(ctx, err) {
		answer, err = s.carefully(ctx, run)
	}
	if err != nil {
		return Forward{}, fmt.Errorf("advance run %s: %w", run, err)
	}
	return answer.forward(), nil
}

// carefully is Advance with a transaction for each job, one of which the database refuses.
func (s Store) carefully(ctx context.Context, run string) (answer, error) {
	for {
		found, err := s.advance(ctx, run, false)
		switch {
		case err != nil && passing(ctx, err):
			return found, err
		case err != nil:
			return surreal.First[answer](ctx, s.DB, "RETURN fn::spky::dag::abandon($run, $reason)", map[string]any{"run": run, "reason": reason(err)})
		case len(found.Ready) == 0:
			return found, nil
		}
		for _, step := range found.Ready {
			if err := s.launch(ctx, run, step); err != nil {
				return found, err
			}
		}
	}
}

// launch makes a job of one step, or notes why there is none.
func (s Store) launch(ctx context.Context, run string, step surreal.RecordID) error {
	err := s.exec(ctx, "fn::spky::dag::launch($run, $step)", map[string]any{"run": run, "step": step})
	if err == nil || passing(ctx, err) {
		return err
	}
	return s.exec(ctx, "fn::spky::dag::refuse($run, $step, $reason)", map[string]any{"run": run, "step": step, "reason": reason(err)})
}

// answer is what the database says of a run that was gone on with.
type answer struct {
	Status   string             `json:"status"`
	Ready    []surreal.RecordID `json:"ready"` // steps that are left
	Workflow string             `json:"workflow"`
}

func (a answer) forward() Forward {
	if a.Workflow == "" {
		return Forward{}
	}
	return Forward{Ended: a.Status, Workflow: a.Workflow}
}

func (s Store) advance(ctx context.Context, run string, dispatch bool) (answer, error) {
	return surreal.First[answer](ctx, s.DB, "RETURN fn::spky::dag::advance($run, $dispatch)", map[string]any{"run": run, "dispatch": dispatch})
}

func (s Store) exec(ctx context.Context, call string, vars map[string]any) error {
	return surreal.Exec(ctx, s.DB, "RETURN "+call, vars)
}

// passing says whether an error is one that trying again later may mend.
func passing(ctx context.Context, err error) bool {
	return ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded) || surreal.IsUnreachable(err) || surreal.IsConflict(err) || surreal.IsAuth(err)
}

func reason(err error) string {
	text := err.Error()
	return strings.ToValidUTF8(text[:min(len(text), maxReason)], "")
}
