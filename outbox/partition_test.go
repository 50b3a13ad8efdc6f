package outbox

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// newParted is a rig whose jobs are parted by tenant, with limit slots each.
func newParted(tb testing.TB, limit int) *rig {
	tb.Helper()
	r := newRig(tb, func(c *Config) { c.PartitionBy, c.PartitionConcurrency = "tenant", limit })
	r.exec("DEFINE FIELD tenant ON job TYPE any", nil)
	if err := schema.PreparePartitions(r.ctx, r.db, "job", "tenant"); err != nil {
		tb.Fatal(err)
	}
	return r
}

// jobOf writes a due job of a tenant.
func (r *rig) jobOf(tenant, key any) Look {
	r.tb.Helper()
	return Look{ID: r.job(key, map[string]any{"tenant": tenant})}
}

// offers lets node claim what it can of these looks.
func (r *rig) offers(node string, room int, looks ...Look) Partitioned {
	r.tb.Helper()
	got, err := r.table.ClaimPartitioned(r.ctx, node, Offer{Looks: looks, Room: room})
	if err != nil || len(got.Refused) > 0 {
		r.tb.Fatalf("claim: %v, refused %v", err, got.Refused)
	}
	return got
}

func (p Partitioned) ids() string {
	var all []string
	for _, job := range p.Jobs {
		all = append(all, surreal.FormatID(job.ID))
	}
	return strings.Join(all, " ")
}

func (p Partitioned) looks() string {
	var all []string
	for _, look := range p.Left {
		all = append(all, surreal.FormatID(look.ID)+look.Partition)
	}
	return strings.Join(all, " ")
}

// succeed ends jobs.
func (r *rig) succeed(jobs ...Job) {
	r.tb.Helper()
	for _, job := range jobs {
		if got := r.settle(Outcome{ID: job.ID, Epoch: job.Epoch, Status: Success}); !got.Written {
			r.tb.Fatalf("settled as %+v", got)
		}
	}
}

// TestOfAPartitionAsManyRunAsItHasSlots takes one tenant's jobs through claim, queue and slot, beside those
// of another and of none.
func TestOfAPartitionAsManyRunAsItHasSlots(t *testing.T) {
	t.Parallel()
	for limit := range 4 {
		if limit == 0 {
			continue
		}
		r := newParted(t, limit)
		var looks []Look
		for i := range 5 {
			looks = append(looks, r.jobOf("ann", fmt.Sprint("ann", i)))
		}
		looks = append(looks, r.jobOf("bob", "bob"), r.jobOf(nil, "free1"), r.jobOf(surreal.None, "free2"))
		got := r.offers("a", 100, looks...)
		first := []string{"job:ann0", "job:ann1", "job:ann2"}[:limit]
		if want := strings.Join(first, " ") + " job:bob job:free1 job:free2"; got.ids() != want || len(got.Left) > 0 {
			t.Fatalf("limit %d: claimed %s, left %s; want %s", limit, got.ids(), got.looks(), want)
		}
		if len(got.Again) != 1 || got.Jobs[0].Partition != got.Again[0] {
			t.Fatalf("limit %d: to be looked at again is %v", limit, got.Again)
		}
		ann := Look{Partition: got.Again[0]}
		if more := r.offers("b", 100, append([]Look{ann}, looks...)...); len(more.Jobs)+len(more.Left)+len(more.Again) > 0 {
			t.Errorf("limit %d: while the slots are taken: %+v", limit, more)
		}
		if due, err := r.table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Hour), 100); err != nil || len(due) > 0 {
			t.Errorf("limit %d: jobs in the queue are listed as due: %v, %v", limit, due, err)
		}
		r.succeed(got.Jobs...)
		for i := limit; i < 5; i++ {
			next := r.offers("b", 100, ann)
			if want := fmt.Sprint("job:ann", i); next.ids() != want || next.Jobs[0].Path != "/x" || next.Jobs[0].DueAt.IsZero() {
				t.Fatalf("limit %d: claimed %+v, want %s", limit, next.Jobs, want)
			}
			r.succeed(next.Jobs...)
		}
	}
}

// TestASlotIsFreeHoweverItsJobEnds ends a running job in every way that there is.
func TestASlotIsFreeHoweverItsJobEnds(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(r *rig, job Job){
		"success": func(r *rig, job Job) { r.succeed(job) },
		"failed":  func(r *rig, job Job) { r.settle(Outcome{ID: job.ID, Epoch: job.Epoch, Status: Failed, Counts: true}) },
		"again later": func(r *rig, job Job) {
			r.settle(Outcome{ID: job.ID, Epoch: job.Epoch, Status: Pending, Wait: time.Hour})
		},
		"lease expired": func(r *rig, job Job) { r.setting(job.ID, "lease_until = time::now() - 1s"); r.reap(job.ID) },
		"node dead":     func(r *rig, job Job) { r.dead("a"); r.reap(job.ID) },
		"by hand":       func(r *rig, job Job) { r.setting(job.ID, "status = 'cancelled'") },
		"deleted":       func(r *rig, job Job) { r.exec("DELETE $id", map[string]any{"id": job.ID}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newParted(t, 1)
			got := r.offers("a", 9, r.jobOf("ann", "one"), r.jobOf("ann", "two"))
			if got.ids() != "job:one" {
				t.Fatalf("claimed %s", got.ids())
			}
			end(r, got.Jobs[0])
			if next := r.offers("b", 9, Look{Partition: got.Again[0]}); next.ids() != "job:two" {
				t.Errorf("claimed %q, want what waits", next.ids())
			}
		})
	}
}

// TestTheLongestWaitingOfAPartitionGoesFirst offers a young job of a partition in whose queue an old one waits.
func TestTheLongestWaitingOfAPartitionGoesFirst(t *testing.T) {
	t.Parallel()
	r := newParted(t, 1)
	running := r.offers("a", 9, r.jobOf("ann", "one"), r.jobOf("ann", "two"))
	r.succeed(running.Jobs...)
	young := r.jobOf("ann", "three")
	if got := r.offers("b", 9, young); got.ids() != "job:two" {
		t.Errorf("claimed %q, want the one that waits", got.ids())
	}
	if waiting, err := r.table.Waiting(r.ctx, "", 10); err != nil || !slices.Equal(waiting, running.Again) {
		t.Errorf("waiting are %v, %v", waiting, err)
	}
}

// TestWithoutRoomNothingIsLost offers more than there is room for.
func TestWithoutRoomNothingIsLost(t *testing.T) {
	t.Parallel()
	r := newParted(t, 2)
	looks := []Look{r.jobOf("ann", "a1"), r.jobOf("ann", "a2"), r.jobOf("ann", "a3"), r.jobOf("bob", "b1"), r.jobOf(nil, "n1")}
	got := r.offers("a", 1, looks...)
	if got.ids() != "job:a1" || got.looks() != "job:a2 job:a3 job:b1 job:n1" {
		t.Fatalf("claimed %s, left %s", got.ids(), got.looks())
	}
	got = r.offers("a", 9, got.Left...)
	if got.ids() != "job:a2 job:b1 job:n1" || len(got.Again) != 1 {
		t.Fatalf("claimed %s, left %s, again %v", got.ids(), got.looks(), got.Again)
	}
	r.succeed(got.Jobs...)
	if got := r.offers("a", 0, Look{Partition: got.Again[0]}); len(got.Jobs) > 0 || len(got.Left) != 1 {
		t.Errorf("without room: %+v", got)
	}
}

// TestWaitingListsEachPartitionOnce has queues of all lengths and reads them in pages.
func TestWaitingListsEachPartitionOnce(t *testing.T) {
	t.Parallel()
	r := newParted(t, 1)
	var looks []Look
	for tenant := range 11 {
		for i := range 1 + tenant {
			looks = append(looks, r.jobOf(tenant, fmt.Sprint(tenant, "-", i)))
		}
	}
	r.offers("a", 100, looks...)
	seen := map[string]bool{}
	for after := ""; ; {
		page, err := r.table.Waiting(r.ctx, after, 3)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range page {
			if seen[key] || key <= after {
				t.Errorf("%s is listed again", key)
			}
			seen[key] = true
			after = key
		}
		if len(page) < 3 {
			break
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d partitions wait, want those with more than one job", len(seen))
	}
}

// TestAnyValueMakesAPartition has a creator who writes whatever he likes. Equal values are one
// partition, others are not, and nothing that is looked at along with them is disturbed.
func TestAnyValueMakesAPartition(t *testing.T) {
	t.Parallel()
	r := newParted(t, 1)
	values := map[string]any{
		"one": 1, "text one": "1", "float": 1.5, "empty": "", "hash": "a#1", "dollar": "a$", "quote": "'`\"\\", "null byte": "a\x00b", "unicode": "\U0001F47B",
		"long": strings.Repeat("x", 1<<20), "object": map[string]any{"b": 1, "a": []any{1, nil}}, "list": []any{"a", "b"}, "list in text": "['a', 'b']",
		"record": surreal.NewRecordID("user", "a-b"), "record in text": "user:`a-b`", "true": true, "false": false, "bytes": []byte{0, 1},
		"time": time.Unix(0, 1), "uuid": surreal.UUID{}, "none in text": "NONE",
	}
	var looks []Look
	for name, value := range values {
		looks = append(looks, r.jobOf(value, name+" 1"), r.jobOf(value, name+" 2"))
	}
	got := r.offers("a", 1000, looks...)
	if len(got.Jobs) != len(values) || len(got.Again) != len(values) {
		t.Errorf("%d claimed of %d partitions, %d with more", len(got.Jobs), len(values), len(got.Again))
	}
	seen := map[string]bool{}
	for _, job := range got.Jobs {
		if seen[job.Partition] || len(job.Partition) != 64 || job.Err != nil {
			t.Errorf("%s has the partition %q", surreal.FormatID(job.ID), job.Partition)
		}
		seen[job.Partition] = true
	}
	r.succeed(got.Jobs...)
	looks = looks[:0]
	for key := range maps.Keys(seen) {
		looks = append(looks, Look{Partition: key})
	}
	if got := r.offers("a", 1000, looks...); len(got.Jobs) != len(values) {
		t.Errorf("%d claimed of the queues of %d", len(got.Jobs), len(values))
	}
}

// TestOfALargeValueOnlySoMuchIsAKey has values that are equal as far as a key goes, and others that are large and yet keys
// as a whole. What is beyond must not be read: an end user can have the database make values of any size.
func TestOfALargeValueOnlySoMuchIsAKey(t *testing.T) {
	t.Parallel()
	r := newParted(t, 1)
	long := strings.Repeat("x", 1<<20)
	text, edge := strings.Repeat("é", 1024), func(end string) string { return strings.Repeat("é", 1023) + end }
	for name, c := range map[string]struct {
		a, b any
		one  bool // whether they are one partition
	}{
		"texts that end differently":      {long + "a", long + "b", true},
		"texts of different lengths":      {long, long + "x", false},
		"texts that begin differently":    {"a" + long, "b" + long, false},
		"the longest texts":               {edge("a"), edge("b"), false},
		"the shortest too long text":      {text + "a", text + "b", true},
		"long texts in lists":             {[]any{long + "a"}, []any{long}, true},
		"long texts deep inside":          {map[string]any{"a": []any{long}}, map[string]any{"b": []any{long}}, true},
		"long names":                      {map[string]any{long: 1}, map[string]any{long + "x": 2}, true},
		"long ids":                        {surreal.NewRecordID("user", long), surreal.NewRecordID("user", []any{long}), true},
		"long lists":                      {make([]any, 17), make([]any, 18), true},
		"the longest lists":               {make([]any, 15), make([]any, 16), false},
		"large bytes":                     {[]byte(long), []byte(long + "x"), true},
		"small ones deep inside":          {map[string]any{"a": []any{"x", 1}}, map[string]any{"a": []any{"x", 2}}, false},
		"ids of texts in a list":          {[]any{surreal.NewRecordID("user", "a")}, []any{surreal.NewRecordID("user", "b")}, false},
		"different types, both too large": {[]any{long}, map[string]any{"a": long}, false},
	} {
		got := r.offers("a", 9, r.jobOf(c.a, name+" a"), r.jobOf(c.b, name+" b"))
		if one := len(got.Jobs) == 1; one != c.one {
			t.Errorf("%s: %d claimed of the two, one partition is %v", name, len(got.Jobs), c.one)
		}
		r.succeed(got.Jobs...)
		for _, key := range got.Again {
			r.succeed(r.offers("a", 9, Look{Partition: key}).Jobs...)
		}
	}
}

// TestABadRowHoldsUpNoPartition has a row at the head of a queue that the table's own rules refuse to be written.
func TestABadRowHoldsUpNoPartition(t *testing.T) {
	t.Parallel()
	r := newParted(t, 1)
	got := r.offers("a", 9, r.jobOf("ann", "one"), r.jobOf("ann", "bad"), r.jobOf("ann", "good"), r.jobOf("bob", "bob"))
	r.setting(surreal.NewRecordID("job", "bad"), "payload = 'poison'")
	r.exec("DEFINE FIELD OVERWRITE payload ON job TYPE any ASSERT $value != 'poison'", nil)
	r.succeed(got.Jobs...)
	ann := Look{Partition: got.Again[0]}
	offer := Offer{Looks: []Look{r.jobOf("bob", "bob2"), ann}, Room: 9}
	bad, err := r.table.ClaimPartitioned(r.ctx, "a", offer)
	if err != nil || bad.ids() != "job:bob2" || len(bad.Refused) != 1 || surreal.FormatID(bad.Refused[0].ID) != "job:bad" {
		t.Fatalf("claimed %s, refused %v, %v", bad.ids(), bad.Refused, err)
	}
	offer = Offer{Looks: []Look{ann}, Room: 9, Skip: map[string]bool{"job:bad": true}}
	if good, err := r.table.ClaimPartitioned(r.ctx, "a", offer); err != nil || good.ids() != "job:good" {
		t.Errorf("claimed %s, %v", good.ids(), err)
	}
}

// TestPartitionsAreFoundByTheirIndexes looks at the database's plans: nothing is sorted, and nothing is
// read but what is wanted, however long the queues are.
func TestPartitionsAreFoundByTheirIndexes(t *testing.T) {
	t.Parallel()
	r := newParted(t, 1)
	r.exec(moreIndexes, nil)
	for name, c := range map[string]struct{ statement, want string }{
		"due":    {r.table.partition.due, "idx_job_partition, access: [true, NONE] MoreThanEqual d'"},
		"heads":  {between(r.table.partition.plan, "(SELECT id, run_at, status", ")\n"), "idx_job_partition, access: [true, 'k'] MoreThanEqual d'"},
		"next":   {between(r.table.partition.waiting, "(SELECT VALUE partition_queue", ")[0]"), "idx_job_partition, access: [true] MoreThanEqual 'k'"},
		"holder": {between(r.table.partition.plan, "SELECT id, partition_slot", ";"), "idx_job_slot, access: >='k#' <'k$'"},
	} {
		statement := strings.NewReplacer("$key", "'k'", "$first", "'k#'", "$last", "'k$'", "$all.after", "'k'").Replace(c.statement)
		plan := r.plan(statement, map[string]any{"from": time.Unix(0, 0), "limit": 5, "heads": 3, "soon": time.Now()})
		limited := name == "holder" || strings.Contains(plan, "limit: ")
		if !strings.Contains(plan, c.want) || !limited || strings.Contains(plan, "Sort") || strings.Contains(plan, "Filter") {
			t.Errorf("%s: want %s in the plan\n%s", name, c.want, plan)
		}
	}
}

// between is a statement within another, without the parenthesis in front.
func between(text, from, to string) string {
	_, after, _ := strings.Cut(text, from)
	inner, _, _ := strings.Cut(after, to)
	return strings.TrimPrefix(from, "(") + inner
}
