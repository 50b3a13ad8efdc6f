package schema_test

import (
	"reflect"
	"regexp"
	"strings"
	"testing"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// signature finds each function's name and the parameters between its brackets.
var signature = regexp.MustCompile(`(?m)^DEFINE FUNCTION OVERWRITE (fn::[\w:]+)\(([^)]*)\)`)

// parameter finds a parameter's type.
var parameter = regexp.MustCompile(`\$\w+:\s*([\w<>| ]+)`)

// everyField is an object that has a value under each name that a function may look for.
const everyField = `{
	id: %s, key: %s, name: 'a', schedule: 'a', dag: 'a', run: 'a', token: 't', hash: 'h', scope: 'full', label: 'l', node: 'n', host: 'h', pid: 1, version: 'v',
	instance: %s, fence: 7, ttl: 1h, kind: 'do', occurrence: 1, status: '%t', output: 'mine', error: NONE, warning: NONE, waiting_for: NONE, wake_at: time::now(),
	events: [], binding: 'FLOW', job: NONE, params: 1, owner: $auth, backend: NONE, job_table: 'job', table: 'job', path: '/x', payload: 1, epoch: 7, cancelled: 'failed',
	retries: 1, wait: 0s, result: 'mine', actor: 'a', via: 'cli', action: 'b', at: time::now(), until: time::now(), due: time::now(), draining: false, backends: [], types: [],
	steps: [], step: 'a', next: time::now(), enabled: true, limit: 100, count: 1, days: 0, hours: 0, before: time::now() + 1y, after: time::now() - 1y
}`

// argumentsOf are values for a parameter of a type, made to fit what is there.
func argumentsOf(kind string) []string {
	records := []string{"job:held", "_00_wf_instance:kept", "_00_wf_step:['kept', 0, 'do', 's', 1]"}
	var objects []string
	for _, id := range append(records, "'new'", "'kept'", "'a'") {
		for _, status := range []string{"success", "complete"} {
			objects = append(objects, strings.NewReplacer("%s", id, "%t", status).Replace(everyField))
		}
	}
	lists := func(all []string) []string {
		var one []string
		for _, v := range all {
			one = append(one, "["+v+"]")
		}
		return one
	}
	inner := strings.TrimSuffix(strings.TrimPrefix(kind, "option<"), ">")
	switch {
	case strings.HasPrefix(kind, "array<object"):
		return lists(objects)
	case strings.HasPrefix(kind, "array<record"):
		return lists(records)
	case strings.HasPrefix(kind, "array<string"):
		return []string{"['kept', 'a', 'job']"}
	case strings.HasPrefix(kind, "array"), strings.HasPrefix(kind, "set"):
		return append(lists(records), "['kept']")
	case strings.HasPrefix(inner, "record"):
		return records
	}
	switch inner {
	case "string":
		return []string{"'kept'", "'a'", "'job'", "'t'"}
	case "int", "number", "float":
		return []string{"7", "0"}
	case "bool":
		return []string{"true"}
	case "duration":
		return []string{"0s"}
	case "datetime":
		return []string{"time::now()"}
	case "object":
		return objects
	}
	return append(objects, "'kept'", "7", "job:held", "[]")
}

// TestNoFunctionGivesRecordUsersAnything lets a user call every function that the platform has, also those
// to come, with values made to fit what is there: nothing changes anywhere.
func TestNoFunctionGivesRecordUsersAnything(t *testing.T) {
	t.Parallel()
	r, u := newInhabited(t)
	before := whole(r)
	found := signature.FindAllStringSubmatch(schema.Statements(), -1)
	if len(found) != len(schema.Functions()) {
		t.Fatalf("%d of %d functions have a signature that this test reads", len(found), len(schema.Functions()))
	}
	for _, fn := range found {
		var answers []any
		for _, args := range combinations(fn[2]) {
			answer, err := u.try("RETURN " + fn[1] + "(" + args + ")")
			answers = append(answers, answer, err)
		}
		after := whole(r)
		for table := range before {
			if !reflect.DeepEqual(before[table], after[table]) {
				t.Fatalf("%s answers a record user with %.1000v, and changed %s from\n%v\nto\n%v", fn[1], answers, table, before[table], after[table])
			}
		}
	}
}

// TestEveryFunctionIsCalledInEarnest: the same calls by root do change things. A test whose calls fit
// nothing would pass whoever may do what.
func TestEveryFunctionIsCalledInEarnest(t *testing.T) {
	t.Parallel()
	r, _ := newInhabited(t)
	changed := map[string]bool{}
	for _, fn := range signature.FindAllStringSubmatch(schema.Statements(), -1) {
		inhabit(r)
		before := whole(r)
		for _, args := range combinations(fn[2]) {
			_ = surreal.Exec(r.ctx, r.db.Retrying(), "RETURN "+fn[1]+"("+args+")", nil) // not every one fits
		}
		changed[fn[1]] = !reflect.DeepEqual(before, whole(r))
	}
	for _, name := range []string{"job::settle", "job::cancel", "job::reap", "node::beat", "token::revoke", "wf::create", "wf::finish", "wf::send_event", "wf::terminate"} {
		if !changed["fn::spky::"+name] {
			t.Errorf("no call of %s fits what is there", name)
		}
	}
}

// newInhabited is a database that has rows of all kinds, and a user who owns the instance.
func newInhabited(t *testing.T) (*rig, *user) {
	t.Helper()
	r := newApplied(t, ours(t))
	u := r.signUp("ann")
	inhabit(r)
	return r, u
}

// inhabit makes the rows anew.
func inhabit(r *rig) {
	r.exec(`DELETE job, _00_node, _00_signal, _00_wf_instance, _00_wf_step, _00_wf_event, _00_admin_token, _00_audit;
		CREATE job:held SET path = '/x', status = 'processing', assignee = 'n', lease_epoch = 7, lease_until = time::now() - 1h;
		RETURN fn::spky::node::beat({ node: 'n', host: 'h', pid: 1, version: 'v', draining: false, backends: [] });
		RETURN fn::spky::wf::create({ id: 'kept', binding: 'FLOW', params: 1, job_table: 'job' });
		UPDATE _00_wf_instance:kept SET fence = 7, events_sent = 1, lease_token = 'mine', lease_until = time::now() - 1h, status = 'running', owner = (SELECT VALUE id FROM user LIMIT 1)[0];
		CREATE _00_wf_step:['kept', 0, 'do', 's', 1] SET instance = _00_wf_instance:kept, status = 'running', attempts = [];
		CREATE _00_wf_event:['kept', 0, 1] SET instance = _00_wf_instance:kept, type = 'a', payload = 1;
		CREATE _00_admin_token:t SET hash = 'h', scope = 'read', label = 'l', expires_at = time::now() + 1h;
		CREATE _00_signal SET node = 'n', job = job:held`, nil)
}

// combinations are texts of arguments: the first of each parameter's values, the second, and so on.
func combinations(parameters string) []string {
	var all [][]string
	most := 1
	for _, p := range parameter.FindAllStringSubmatch(parameters, -1) {
		values := argumentsOf(p[1])
		all, most = append(all, values), max(most, len(values))
	}
	var texts []string
	for n := range most {
		var args []string
		for _, values := range all {
			args = append(args, values[n%len(values)])
		}
		texts = append(texts, strings.Join(args, ", "))
	}
	return texts
}

// whole is all that the database holds, but for jobs that a user has created, as he may.
func whole(r *rig) map[string]any {
	r.tb.Helper()
	var parts []string
	for _, table := range append(schema.Tables(), "user") {
		parts = append(parts, table+": (SELECT * FROM "+table+")")
	}
	return r.object("RETURN { job: (SELECT * FROM job WHERE id = job:held), " + strings.Join(parts, ", ") + " }")
}
