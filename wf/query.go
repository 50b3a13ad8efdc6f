package wf

import (
	"context"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Query makes a step of a SurrealQL statement block: what it writes and the step's result are one
// transaction, which is made once, whatever crashes. Use it for steps that only write to the same
// database; a step made with [Do] may have done its work and crash before its result is stored.
//
// The block may have any number of statements. Its result is that of the last; make it JSON of at
// most 1 MiB. It runs inside a transaction already, so it must not begin, commit or cancel one.
// Values go into vars, whose names must not start with spky_. A THROW, or any other failure, undoes
// the whole and fails the attempt.
//
// Mind that SurrealDB 3.0 leaves the id out where a transaction selects a row that it has written
// itself: take ids from what the write returns.
func Query[T any](ctx context.Context, s *Step, name, surql string, vars map[string]any, opts ...Option) (T, error) {
	key, row := s.run.identify(protocol.KindDo, name)
	value, err := s.run.query(ctx, key, row, surql, vars, opts)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](fmt.Sprintf("result of step %q", name), value)
}

// A querier is a store that can make a statement block part of a commit.
type querier interface {
	query(ctx context.Context, w protocol.StepWrite, surql string, vars map[string]any) (protocol.Ack, any, error)
}

func (r *run) query(ctx context.Context, key stepKey, row *storedStep, surql string, vars map[string]any, opts []Option) (any, error) {
	if err := checkBlock(surql, vars); err != nil {
		return nil, fmt.Errorf("step %q: %w", key.name, err)
	}
	ctx = context.WithValue(ctx, blockKey{}, block{surql: surql, vars: vars})
	return r.do(ctx, key, row, opts, func(ctx context.Context, a *attempts) (any, error) {
		db, ok := r.store.(querier)
		if !ok {
			return nil, &fatalError{errNoDatabase}
		}
		ended := r.now()
		step := a.step
		step.Status = protocol.StepComplete
		step.Attempts[len(step.Attempts)-1].EndedAt = &ended
		w := r.addressed(protocol.StepWrite{Step: step}, true)
		own, err := persist(ctx, func(ctx context.Context) (committedValue, error) {
			ack, value, err := db.query(ctx, w, surql, vars)
			return committedValue{value: value, ack: ack}, err
		})
		if err != nil {
			return nil, err
		}
		return own, nil
	})
}

// Texts that the protocol's functions throw.
const (
	thrownFenced = "spky: fenced"
	thrownDone   = "spky: done"
)

// query runs the block between the check of the fence and the commit of the step.
func (d *database) query(ctx context.Context, w protocol.StepWrite, surql string, vars map[string]any) (protocol.Ack, any, error) {
	all := map[string]any{"spky_op": stepOp(w), "spky_row": stepRow(w)}
	for name, value := range vars {
		all[name] = value
	}
	// A closure keeps a RETURN of the block from ending the transaction: at its top level it would
	// skip to the COMMIT.
	text := "BEGIN;\nLET $spky_held = fn::spky::wf::hold($spky_op, $spky_row);\nLET $spky_result = (|| {\n" + surql + "\n})();\n" +
		"RETURN fn::spky::wf::commit_query($spky_op, $spky_row, $spky_result);\nCOMMIT;"
	answer, err := surreal.Last[struct {
		Pause  bool `json:"pause"`
		Output any  `json:"output"`
	}](ctx, d.db, text, all)
	if thrown, ok := surreal.IsThrown(err); ok {
		switch {
		case strings.Contains(thrown, thrownFenced):
			return protocol.Ack{}, nil, nil
		case strings.Contains(thrown, thrownDone): // an earlier call whose answer was lost
			return d.stored(ctx, w)
		}
	}
	if err != nil {
		return protocol.Ack{}, nil, err
	}
	return protocol.Ack{OK: true, Pause: answer.Pause}, answer.Output, nil
}

// stored reads the result of a step that is done.
func (d *database) stored(ctx context.Context, w protocol.StepWrite) (protocol.Ack, any, error) {
	output, err := surreal.First[any](ctx, d.db, "SELECT VALUE output FROM ONLY $step", map[string]any{"step": stepID(w)})
	return protocol.Ack{OK: true}, output, err
}
