package schema_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// TestPartitionsAreAddedOnce prepares a table twice, and one that has no such column.
func TestPartitionsAreAddedOnce(t *testing.T) {
	t.Parallel()
	r := newApplied(t, ours(t))
	plain := r.definitions()
	if err := schema.PreparePartitions(r.ctx, r.db, "job", "assigned_to"); err != nil {
		t.Fatal(err)
	}
	parted := r.definitions()
	for name := range maps.Keys(plain) {
		if parted[name] != plain[name] {
			t.Errorf("%s was %q and is %q", name, plain[name], parted[name])
		}
	}
	if len(parted) != len(plain)+4 {
		t.Errorf("%d definitions more, want two columns and two indexes", len(parted)-len(plain))
	}
	if err := schema.PreparePartitions(r.ctx, r.db, "job", "payload.tenant"); err != nil || !maps.Equal(parted, r.definitions()) {
		t.Errorf("prepared again: %v, %v", err, r.definitions())
	}
	if box := r.prepare(); len(box.Missing) > 0 {
		t.Errorf("missing are %v", box.Missing)
	}
	if err := schema.PreparePartitions(r.ctx, r.db, "job", "tenant"); err == nil || !strings.Contains(err.Error(), "has no column tenant") {
		t.Errorf("a column that is not there: %v", err)
	}
}

func TestHostileColumnsAreRefused(t *testing.T) {
	t.Parallel()
	for _, column := range []string{"", ".", "a.", ".a", "a..b", "a b", "a`; REMOVE TABLE job; --", "a\n", "ä", "1a", "a[0]", "$auth", strings.Repeat("a", 129)} {
		if err := schema.CheckPartition(column); !errors.Is(err, schema.ErrPartition) {
			t.Errorf("%q: %v", column, err)
		}
	}
	for _, column := range []string{"a", "_", "assigned_to", "payload.tenant.id", "select", strings.Repeat("a", 128)} {
		if err := schema.CheckPartition(column); err != nil {
			t.Errorf("%q: %v", column, err)
		}
	}
}

// TestRecordUsersMoveNoSlotAndNoQueue has a user who owns jobs, on tables whose permissions are as lax as
// upstream's, write whatever he likes into them.
func TestRecordUsersMoveNoSlotAndNoQueue(t *testing.T) {
	t.Parallel()
	for name, ddl := range map[string]string{"ours": ours(t), "upstream's first": upstreams(t, "minimal"), "upstream's later": upstreams(t, "full")} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newApplied(t, ddl)
			if err := schema.PreparePartitions(r.ctx, r.db, "job", "payload.tenant"); err != nil {
				t.Fatal(err)
			}
			u := r.signUp("ann")
			u.query("CREATE job:held SET path = '/x', assigned_to = $auth; CREATE job:queued SET path = '/x', assigned_to = $auth")
			_, _ = u.try("CREATE job:sly SET path = '/x', assigned_to = $auth, partition_slot = 'k#1', partition_queue = 'k'") // refused, or without effect
			r.exec("UPDATE job:held SET status = 'processing', partition_slot = 'k#1'; UPDATE job:queued SET partition_queue = 'k'", nil)
			before := slots(r)
			if !strings.Contains(before, "job:held processing k#1 -") || !strings.Contains(before, "job:queued pending - k") {
				t.Fatalf("the rows are %s", before)
			}
			for _, id := range []string{"job:held", "job:queued"} {
				for _, sets := range []string{"partition_slot = NONE", "partition_queue = NONE", "partition_slot = 'k#2'", "partition_queue = 'l'", "payload = { tenant: 'other' }"} {
					_, _ = u.try("UPDATE " + id + " SET " + sets) // refused, or without effect
				}
			}
			if after := slots(r); after != before {
				t.Errorf("a record user moved\n%s to\n%s", before, after)
			}
			if rows := fmt.Sprint(u.query("SELECT * FROM job")); strings.Contains(rows, "partition_") {
				t.Errorf("a record user sees %s", rows)
			}
		})
	}
}

// slots are what all rows hold and wait for.
func slots(r *rig) string {
	r.tb.Helper()
	text, err := surreal.First[[]string](r.ctx, r.db, "SELECT VALUE string::join(' ', <string>id, status, partition_slot ?? '-', partition_queue ?? '-') FROM job", nil)
	if err != nil {
		r.tb.Fatal(err)
	}
	return strings.Join(text, "\n")
}

// TestNoTwoJobsHoldOneSlot writes as root does.
func TestNoTwoJobsHoldOneSlot(t *testing.T) {
	t.Parallel()
	r := newApplied(t, ours(t))
	if err := schema.PreparePartitions(r.ctx, r.db, "job", "payload.tenant"); err != nil {
		t.Fatal(err)
	}
	r.exec("CREATE job:one SET path = '/x'; CREATE job:two SET path = '/x'; UPDATE job:one SET status = 'processing', partition_slot = 'k#1'", nil)
	take := func() error {
		return surreal.Exec(r.ctx, r.db, "UPDATE job:two SET status = 'processing', partition_slot = 'k#1'", nil)
	}
	if err := take(); err == nil || !strings.Contains(err.Error(), "`idx_job_slot` already contains") {
		t.Fatalf("two jobs hold a slot: %v", err)
	}
	r.exec("UPDATE job:one SET status = 'success'", nil)
	if err := take(); err != nil {
		t.Errorf("a slot that is free: %v", err)
	}
}
