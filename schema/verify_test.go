package schema_test

import (
	"testing"

	"sp00ky.cloud/spky/schema"
)

// TestVerifyNamesWhatDiffers changes one thing at a time.
func TestVerifyNamesWhatDiffers(t *testing.T) {
	t.Parallel()
	cases := []struct {
		change, object string
		missing, extra bool
	}{
		{change: "DEFINE FIELD OVERWRITE heartbeat_at ON _00_node TYPE string", object: "field heartbeat_at of _00_node"},
		{change: "REMOVE FIELD heartbeat_at ON _00_node", object: "field heartbeat_at of _00_node", missing: true},
		{change: "DEFINE FIELD note ON _00_node TYPE any", object: "field note of _00_node", extra: true},
		{change: "DEFINE INDEX mine ON _00_node FIELDS host", object: "index mine of _00_node", extra: true},
		{change: "DEFINE EVENT spy ON _00_node WHEN true THEN {}", object: "event spy of _00_node", extra: true},
		{change: "REMOVE FUNCTION fn::spky::job::settle", object: "function fn::spky::job::settle", missing: true},
		{change: "DEFINE FUNCTION OVERWRITE fn::spky::job::settle($outcomes: any) { RETURN [] }", object: "function fn::spky::job::settle"},
		{change: "DEFINE FUNCTION fn::spky::backdoor() { RETURN 1 }", object: "function fn::spky::backdoor", extra: true},
		{change: "DEFINE TABLE OVERWRITE _00_node SCHEMAFULL PERMISSIONS FULL", object: "table _00_node"},
	}
	r := newApplied(t, "")
	for _, c := range cases {
		r.exec(c.change, nil)
		found, err := schema.Verify(r.ctx, r.db)
		if err != nil || len(found) != 1 {
			t.Errorf("%s: verify finds %v, %v", c.change, found, err)
		} else if d := found[0]; d.Object != c.object || (d.Have == "") != c.missing || (d.Want == "") != c.extra || d.String() == "" {
			t.Errorf("%s: verify finds %+v", c.change, d)
		}
		if c.extra {
			r.exec(map[string]string{
				"field note of _00_node": "REMOVE FIELD note ON _00_node", "index mine of _00_node": "REMOVE INDEX mine ON _00_node",
				"event spy of _00_node": "REMOVE EVENT spy ON _00_node", "function fn::spky::backdoor": "REMOVE FUNCTION fn::spky::backdoor",
			}[c.object], nil)
		}
		r.exec("DELETE _00_schema:platform", nil)
		if _, err := schema.Apply(r.ctx, r.db); err != nil {
			t.Fatal(err)
		}
		r.settled()
	}
}

// TestVerifyNamesEverythingOfAMissingTable removes a whole table, which takes its fields along.
func TestVerifyNamesEverythingOfAMissingTable(t *testing.T) {
	t.Parallel()
	r := newApplied(t, "")
	r.exec("REMOVE TABLE _00_signal", nil)
	found, err := schema.Verify(r.ctx, r.db)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]bool{"table _00_signal": true, "field node of _00_signal": true, "field job of _00_signal": true, "field sent_at of _00_signal": true}
	for _, d := range found {
		if !want[d.Object] || d.Have != "" {
			t.Errorf("verify finds %+v", d)
		}
		delete(want, d.Object)
	}
	if len(want) > 0 {
		t.Errorf("verify does not name %v", want)
	}
}

// TestVerifyNoticesATamperedState has somebody change what verify compares with.
func TestVerifyNoticesATamperedState(t *testing.T) {
	t.Parallel()
	r := newApplied(t, "")
	r.exec("UPDATE _00_schema:platform SET objects = { `table _00_node`: 'x' }", nil)
	if found, err := schema.Verify(r.ctx, r.db); err != nil || len(found) < 20 {
		t.Errorf("verify finds only %v, %v", found, err)
	}
	// Objects of the user's own are nobody's business.
	r = newApplied(t, "")
	r.exec("DEFINE TABLE page; DEFINE FUNCTION fn::mine() { RETURN 1 }", nil)
	r.settled()
}
