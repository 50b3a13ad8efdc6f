package bench_test

import (
	"bytes"
	"slices"
	"testing"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

func TestWorkflowsAreMeasuredAndNothingIsLeft(t *testing.T) {
	target := devdbtest.Fresh(t)
	db := surreal.Config{Endpoint: target.Endpoint, Namespace: target.Namespace, Database: target.Database, Username: target.User, Password: target.Password}
	o := bench.WorkflowOptions{DB: db, Count: 10, Steps: 3, Concurrency: 5, Samples: 3}
	steps, err := bench.Steps(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	instances, err := bench.Instances(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for name, figure := range map[string]float64{
		"run": steps.Run, "bare": steps.Bare, "of bare": steps.OfBare, "event": steps.Event.P50,
		"instances": instances.PerSecond, "ceiling": instances.Ceiling, "of ceiling": instances.OfCeiling, "together": instances.Together.P50, "alone": instances.Alone.P50,
	} {
		if figure <= 0 {
			t.Errorf("%s is %v", name, figure)
		}
	}
	wantLegs(t, steps.Event, steps.EventLegs, "sent", "announced, claimed and sent on", "acquired", "went on")
	wantLegs(t, instances.Alone, instances.AloneLegs, "created", "announced, claimed and sent", "acquired", "steps", "finished")
	// Job: created, claimed, settled. Instance: created, acquired, three steps, finished. Three steps.
	if n := instances.Counted.RowWrites; n < 10 || n > 13 {
		t.Errorf("%v row writes, want about 12", n)
	}
	// Created, claimed, acquired, three steps, finished, settled (the last one's perhaps later).
	if n := instances.Counted.TransactionsAlone; n < 7.5 {
		t.Errorf("%v transactions alone, want about 8", n)
	}
	var out bytes.Buffer
	if err := steps.Write(&out); err != nil {
		t.Fatal(err)
	}
	if err := instances.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Log(out.String())

	client, hangUp, err := surreal.Connect(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := hangUp(); err != nil {
			t.Error(err)
		}
	}()
	for _, table := range []string{"_00_wf_instance", "_00_wf_step", "_00_wf_event"} {
		rows, err := surreal.Rows(t.Context(), client, "SELECT id FROM "+table, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(rows) > 0 {
			t.Errorf("%d rows are left in %s", len(rows), table)
		}
	}
}

// wantLegs checks that the parts are there and that none of them is longer than the longest whole.
func wantLegs(t *testing.T, whole bench.Spread, legs []bench.Leg, names ...string) {
	t.Helper()
	var got []string
	for _, leg := range legs {
		got = append(got, leg.Name)
		if leg.Took.N != whole.N || leg.Took.Max > whole.Max {
			t.Errorf("%s is %+v of %+v", leg.Name, leg.Took, whole)
		}
	}
	if !slices.Equal(got, names) {
		t.Errorf("the parts are %q, want %q", got, names)
	}
}
