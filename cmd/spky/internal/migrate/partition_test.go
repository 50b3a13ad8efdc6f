package migrate

import "testing"

// TestColumnsOfPartitionsAreApplied has a table whose jobs are parted from some day on.
func TestColumnsOfPartitionsAreApplied(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.outbox("job")
	w.mustApply()
	const item = "platform columns of job"
	if got := w.states()[item]; got != Applied {
		t.Fatalf("the table is %s", got)
	}
	w.project.Partitions = map[string]string{"job": "assigned_to"}
	if got := w.states()[item]; got != Pending {
		t.Errorf("with partitionBy it is %s, want that something is to do", got)
	}
	w.mustApply()
	if got := w.states()[item]; got != Applied || w.definition("job", "partition_slot") == "" {
		t.Errorf("afterwards it is %s", got)
	}
	w.project.Partitions["job"] = "tenant"
	if err := w.apply(Options{}); err == nil {
		t.Error("a column that the table does not have was applied")
	}
}
