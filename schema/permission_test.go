package schema_test

import (
	"fmt"
	"reflect"
	"testing"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// everything is what root sees of a table.
func (r *rig) everything(table string) []map[string]any {
	r.tb.Helper()
	rows, err := surreal.First[[]map[string]any](r.ctx, r.db, "SELECT * FROM type::table($table)", map[string]any{"table": table})
	if err != nil {
		r.tb.Fatal(err)
	}
	return rows
}

// TestRecordUsersSeeNoPlatformTables covers reads, writes and removals.
func TestRecordUsersSeeNoPlatformTables(t *testing.T) {
	t.Parallel()
	r := newApplied(t, ours(t))
	r.exec(`CREATE _00_migrations SET version = '1', name = 'n', checksum = 'c'; CREATE _00_signal SET node = 'a', job = job:1;
		RETURN fn::spky::node::beat({ node: 'a', host: 'h', pid: 1, version: 'v', draining: false, backends: [] });
		CREATE _00_admin_token:t SET hash = 'h', scope = 'read', label = 'l', expires_at = time::now() + 1h;
		RETURN fn::spky::audit::write({ actor: 'a', via: 'cli', action: 'b' }, 'c', 'done')`, nil)
	u := r.signUp("ann")
	for _, call := range []string{"fn::spky::token::revoke('t')", "fn::spky::audit::write({ actor: 'a', via: 'cli', action: 'b' }, 'c', 'done')", "fn::spky::audit::note({ actor: 'a', via: 'cli', action: 'b' }, { ok: true })"} {
		_, _ = u.try("RETURN " + call) // refused, or without effect: the tables below stay as they are
	}
	if rows := r.everything("_00_audit"); len(rows) != 1 {
		t.Errorf("a record user wrote into the audit: %v", rows)
	}
	if rows := r.everything("_00_admin_token"); rows[0]["revoked_at"] != nil {
		t.Errorf("a record user revoked a token: %v", rows)
	}
	for _, table := range []string{"_00_schema", "_00_migrations", "_00_node", "_00_signal", "_00_admin_token", "_00_audit"} {
		before := r.everything(table)
		if len(before) == 0 {
			t.Fatalf("%s is empty", table)
		}
		if rows, ok := u.query("SELECT * FROM " + table).([]any); !ok || len(rows) > 0 {
			t.Errorf("a record user sees %s: %v", table, rows)
		}
		for _, surql := range []string{"CREATE %s", "UPDATE %s SET node = 'x', version = 1", "DELETE %s", "UPSERT %s:x SET node = 'x'", "INSERT INTO %s { id: 'x' }"} {
			_, _ = u.try(fmt.Sprintf(surql, table)) // refused, or without effect
		}
		if after := r.everything(table); !reflect.DeepEqual(before, after) {
			t.Errorf("a record user changed %s from %v to %v", table, before, after)
		}
	}
	for _, surql := range []string{"DEFINE FUNCTION OVERWRITE fn::spky::job::retry($id: record) { RETURN 1 }", "REMOVE FUNCTION fn::spky::job::retry", "REMOVE TABLE _00_node", "DEFINE FIELD OVERWRITE lease_epoch ON job PERMISSIONS FULL", "INFO FOR DB"} {
		if _, err := u.try(surql); err == nil {
			t.Errorf("a record user may run %s", surql)
		}
	}
	r.settled()
}

// TestPlatformFunctionsGiveRecordUsersNothing lets a user who owns a job, on tables whose permissions are
// as lax as upstream's, call every verb on it in every state.
func TestPlatformFunctionsGiveRecordUsersNothing(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{"ours": ours(t), "upstream's first": upstreams(t, "minimal"), "upstream's later": upstreams(t, "full")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, ddl)
			u := r.signUp("ann")
			u.query("CREATE job:pending SET path = '/x', assigned_to = $auth; CREATE job:held SET path = '/x', assigned_to = $auth; CREATE job:done SET path = '/x', assigned_to = $auth")
			r.exec(`UPDATE job:pending SET run_at = time::now() + 1h;
				UPDATE job:held SET status = 'processing', assignee = 'dead', lease_until = time::now() - 1h, lease_epoch = 3;
				UPDATE job:done SET status = 'failed', retries = 3, result = 'r', lease_epoch = 3`, nil)
			before := states(r)
			for _, id := range []string{"job:pending", "job:held", "job:done"} {
				for _, call := range []string{
					"fn::spky::job::cancel(%s, 'cancelled')", "fn::spky::job::cancel(%s, 'failed')", "fn::spky::job::retry(%s)", "fn::spky::job::reap([%s], 'failed')",
					"fn::spky::job::settle([{ id: %s, epoch: 3, status: 'success', cancelled: 'failed', retries: 0, wait: 0s, result: 'mine', error: NONE }])",
					"fn::spky::job::succeed([{ id: %s, epoch: 3, result: 'mine' }])",
					"fn::spky::job::settle([{ id: %s, epoch: 3, status: 'pending', cancelled: 'failed', retries: 1, wait: 0s, result: NONE, error: { code: 1, reason: 'x', attempt: 1 } }])",
				} {
					_, _ = u.try("RETURN " + fmt.Sprintf(call, id)) // refused, or without effect
				}
			}
			_, _ = u.try("RETURN fn::spky::node::beat({ node: 'mine', host: 'h', pid: 1, version: 'v', draining: false, backends: [] })")
			if live, err := u.try("RETURN fn::spky::node::live()"); err == nil && !reflect.DeepEqual(live, []any{}) && live != nil {
				t.Errorf("a record user sees the nodes: %v", live)
			}
			if after := states(r); !reflect.DeepEqual(before, after) {
				t.Errorf("the jobs were\n%v\nand are\n%v", before, after)
			}
			for _, table := range []string{"_00_node", "_00_signal"} {
				if rows := r.everything(table); len(rows) > 0 {
					t.Errorf("a record user wrote %v", rows)
				}
			}
		})
	}
}

// states are the columns that the runner lives by.
func states(r *rig) []map[string]any {
	r.tb.Helper()
	rows, err := surreal.First[[]map[string]any](r.ctx, r.db,
		"SELECT id, status, retries, run_at, errors, result, assignee, lease_until, lease_epoch, cancel_requested FROM job", nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	return rows
}

// TestLeaseColumnsAreTheRunnersOwn lets a user try to read and to write them, where the platform has
// defined them.
func TestLeaseColumnsAreTheRunnersOwn(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{"ours": ours(t), "upstream's first": upstreams(t, "minimal")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, ddl)
			u := r.signUp("ann")
			u.query("CREATE job:1 SET path = '/x', assigned_to = $auth, assignee = 'me', lease_epoch = 99, lease_until = time::now() + 1y, cancel_requested = time::now(), result = 'mine'")
			none := func(when string) {
				t.Helper()
				row := r.everything("job")[0]
				for _, column := range []string{"assignee", "lease_until", "lease_epoch", "cancel_requested", "result"} {
					if row[column] != nil {
						t.Errorf("%s: the user wrote %s = %v", when, column, row[column])
					}
				}
			}
			none("create")
			about(t, "a job created with lease columns", r.moment("RETURN job:1.run_at"), 0)
			_, _ = u.try("UPDATE job:1 SET assignee = 'me', lease_epoch = 99, lease_until = time::now() + 1y, cancel_requested = time::now(), result = 'mine'")
			none("update")
			r.exec("UPDATE job:1 SET status = 'processing', assignee = 'a', lease_epoch = 4, lease_until = time::now(), cancel_requested = time::now()", nil)
			rows, _ := u.query("SELECT *, assignee AS a, lease_until ?? 'n' AS u FROM job").([]any)
			if len(rows) != 1 {
				t.Fatalf("the user sees %d rows", len(rows))
			}
			row := rows[0].(map[string]any)
			for column, nothing := range map[string]any{"assignee": nil, "lease_until": nil, "lease_epoch": nil, "cancel_requested": nil, "a": nil, "u": "n"} {
				if row[column] != nothing {
					t.Errorf("the user sees %s = %v", column, row[column])
				}
			}
			if rows, _ := u.query("SELECT id FROM job WHERE assignee = 'a' OR lease_epoch = 4").([]any); len(rows) > 0 {
				t.Error("the user finds rows by their holder")
			}
		})
	}
}

// TestEveryPlatformTableIsNamed guards the list that verify goes through.
func TestEveryPlatformTableIsNamed(t *testing.T) {
	t.Parallel()
	r := newApplied(t, "")
	known := map[string]bool{}
	for _, table := range schema.Tables() {
		known[table] = true
	}
	for table := range r.object("INFO FOR DB")["tables"].(map[string]any) {
		if !known[table] {
			t.Errorf("table %s is not among the platform's", table)
		}
	}
}
