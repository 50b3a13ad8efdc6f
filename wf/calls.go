package wf

import (
	"context"
	"fmt"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// A call is one of the calls that travel in groups: one field is set, to its argument; and row beside
// commit.
type call struct{ create, acquire, commit, row, finish map[string]any }

// An answer is a call's; which field is set depends on it.
type answer struct {
	made     bool
	acquired protocol.Acquired
	apart    bool // its history is still to be read
	ack      protocol.Ack
}

// create writes an instance and its first job, or answers false where its id is used.
func (d *database) create(ctx context.Context, row map[string]any) (bool, error) {
	got, err := d.calls.do(ctx, call{create: row})
	return got.made, err
}

// A sorting is a group whose calls are told apart, each kind with its arguments and its places among the
// answers.
type sorting struct {
	vars   map[string]any
	places map[string][]int
}

func sortCalls(calls []call) sorting {
	rows := map[string][]map[string]any{"creates": {}, "acquires": {}, "commits": {}, "rows": {}, "finishes": {}}
	places := map[string][]int{}
	for i, c := range calls {
		for kind, row := range map[string]map[string]any{"creates": c.create, "acquires": c.acquire, "commits": c.commit, "finishes": c.finish} {
			if row != nil {
				rows[kind], places[kind] = append(rows[kind], row), append(places[kind], i)
			}
		}
		if c.row != nil {
			rows["rows"] = append(rows["rows"], c.row)
		}
	}
	vars := map[string]any{}
	for kind, all := range rows {
		vars[kind] = all
	}
	return sorting{vars: vars, places: places}
}

// perform makes the calls in one transaction.
func (d *database) perform(ctx context.Context, calls []call) ([]answer, error) {
	s := sortCalls(calls)
	got, err := d.send(ctx, s)
	if surreal.IsAlreadyExists(err) { // an instance made by somebody else meanwhile: look again
		got, err = d.send(ctx, s)
	}
	if err != nil {
		return nil, err
	}
	if n := len(got.Creates) + len(got.Acquires) + len(got.Commits) + len(got.Finishes); n != len(calls) {
		return nil, fmt.Errorf("%d answers to %d calls", n, len(calls))
	}
	answers := make([]answer, len(calls))
	for i, at := range s.places["creates"] {
		answers[at].made = got.Creates[i].OK
	}
	for i, at := range s.places["acquires"] {
		answers[at].acquired, answers[at].apart = got.Acquires[i].plain(), got.Acquires[i].Apart
	}
	for i, at := range s.places["commits"] {
		answers[at].ack = got.Commits[i]
	}
	for i, at := range s.places["finishes"] {
		answers[at].ack = got.Finishes[i]
	}
	return answers, nil
}

// allAnswers are those of fn::spky::wf::all.
type allAnswers struct {
	Creates  []protocol.Ack `json:"creates"`
	Acquires []acquired     `json:"acquires"`
	Commits  []protocol.Ack `json:"commits"`
	Finishes []protocol.Ack `json:"finishes"`
}

// send makes the calls of a group by the function of their kind, or by the one for all kinds.
func (d *database) send(ctx context.Context, s sorting) (all allAnswers, err error) {
	if len(s.places) > 1 {
		return surreal.First[allAnswers](ctx, d.db, "RETURN fn::spky::wf::all($creates, $acquires, $commits, $rows, $finishes)", s.vars)
	}
	for kind := range s.places {
		switch kind {
		case "creates":
			all.Creates, err = surreal.First[[]protocol.Ack](ctx, d.db, "RETURN fn::spky::wf::create_batch($creates)", s.vars)
		case "acquires":
			all.Acquires, err = surreal.First[[]acquired](ctx, d.db, "RETURN fn::spky::wf::acquire_all($acquires)", s.vars)
		case "commits":
			all.Commits, err = surreal.First[[]protocol.Ack](ctx, d.db, "RETURN fn::spky::wf::commit_steps($commits, $rows)", s.vars)
		case "finishes":
			all.Finishes, err = surreal.First[[]protocol.Ack](ctx, d.db, "RETURN fn::spky::wf::finish_all($finishes)", s.vars)
		}
	}
	return all, err
}
