package model

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

// fencedFunctions are called by whoever holds an instance or a job, with so many arguments.
func fencedFunctions() []struct {
	name string
	args int
} {
	return []struct {
		name string
		args int
	}{
		{"wf::begin_step", 2},
		{"wf::fail_attempt", 2},
		{"wf::commit_step", 3},
		{"wf::commit_steps", 2},
		{"wf::commit_each", 4},
		{"wf::renew", 3},
		{"wf::suspend", 1},
		{"wf::hand_over", 2},
		{"wf::finish", 1},
		{"wf::finish_all", 1},
		{"wf::warn", 4},
		{"wf::hold", 2},
		{"wf::commit_query", 3},
		{"wf::acquire", 5},
		{"wf::acquire_all", 1},
		{"wf::all", 5},
		{"job::settle", 1},
		{"job::succeed", 1},
		{"job::reap", 2},
	}
}

// argument is a value of JSON as an argument: texts that begin with @ are what the database has there.
func argument(v any) any {
	switch v := v.(type) {
	case string:
		switch v {
		case "@instance":
			return surreal.NewRecordID("_00_wf_instance", "kept")
		case "@step":
			return surreal.NewRecordID("_00_wf_step", []any{"kept", 0, "do", "s", 1})
		case "@job":
			return surreal.NewRecordID("job", "kept")
		case "@ttl":
			return surreal.Duration(hour)
		case "@none":
			return surreal.None
		}
	case []any:
		for i := range v {
			v[i] = argument(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = argument(v[key])
		}
	}
	return v
}

// FuzzProtocolArguments calls what only a holder may do with any arguments, but not the fence and the
// epoch that are a secret of the present holders: whatever the answer, nothing changes.
func FuzzProtocolArguments(f *testing.F) {
	const op, row = `{"instance": "@instance", "fence": 0, "ttl": "@ttl", "name": "s"}`, `{"id": "@step", "instance": "@instance", "status": "complete", "output": 9}`
	for n, fn := range fencedFunctions() {
		for _, args := range []string{
			`[]`, `[` + op + `, ` + row + `, "@none"]`, `["kept", 0, "@ttl", true]`, `[[{"id": "@job", "epoch": 0, "status": "failed", "cancelled": "cancelled", "retries": 1, "wait": "@ttl", "result": 1, "error": "@none"}]]`,
			`[{"id": "kept", "fence": 0, "status": "complete", "output": 1}]`, `[[{"id": "kept", "fence": null, "status": "errored"}]]`, `["kept", "FLOW", "@none", "x", "@ttl"]`,
			`[[{"id": "kept", "binding": "FLOW", "job": "@none", "run": "x", "ttl": "@ttl"}], [], [], [], []]`, `[[], [], [` + op + `], [` + row + `], []]`, `[["@job"], "cancelled"]`,
			`[[` + op + `, ` + op + `], [` + row + `]]`, `[{"instance": "@job", "fence": "@none"}, {"id": "@job"}]`, `[{"instance": "@instance", "fence": {}}, {"id": "@instance"}, 1]`,
		} {
			if strings.Count(args, ",")+1 >= fn.args || args == `[]` {
				f.Add(uint8(n), args)
			}
		}
	}
	r := newRig(f, nil)
	db := r.connect(f)
	r.exec(f, `RETURN fn::spky::wf::create({ id: 'kept', binding: 'FLOW', params: 1, job_table: 'job' });
		RETURN fn::spky::wf::acquire('kept', 'FLOW', NONE, 'the run', 24h);
		UPDATE _00_wf_instance:kept SET fence = 48611 RETURN NONE;
		CREATE _00_wf_step:['kept', 0, 'do', 's', 1] SET instance = _00_wf_instance:kept, status = 'running', attempts = [] RETURN NONE;
		UPSERT _00_node:n SET node = 'n', host = 'h', pid = 1, version = 'v', started_at = time::now(), heartbeat_at = time::now() + 24h RETURN NONE;
		CREATE job:kept SET path = '/x', status = 'processing', assignee = 'n', lease_epoch = 48611, lease_until = time::now() + 24h RETURN NONE`, nil)
	all := func(t *testing.T) []any {
		t.Helper()
		rows, err := surreal.First[[]any](t.Context(), db, "RETURN [(SELECT * FROM _00_wf_instance), (SELECT * FROM _00_wf_step), (SELECT * FROM _00_wf_event), (SELECT * FROM job), (SELECT * FROM _00_signal)]", nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows
	}
	f.Fuzz(func(t *testing.T, n uint8, text string) {
		fn := fencedFunctions()[int(n)%len(fencedFunctions())]
		var args []any
		if json.Unmarshal([]byte(text), &args) != nil || strings.Contains(text, "48611") {
			return
		}
		vars, names := map[string]any{}, []string{}
		for i := range fn.args {
			name := fmt.Sprintf("a%d", i)
			names, vars[name] = append(names, "$"+name), surreal.None
			if i < len(args) {
				vars[name] = argument(args[i])
			}
		}
		was := all(t)
		answer, err := surreal.First[any](t.Context(), db, "RETURN fn::spky::"+fn.name+"("+strings.Join(names, ", ")+")", vars)
		if now := all(t); !reflect.DeepEqual(was, now) {
			t.Fatalf("%s with %s, answered with %v, %v:\nbefore %v\nafter  %v", fn.name, text, answer, err, was, now)
		}
	})
}
