package bench_test

import (
	"reflect"
	"testing"
	"time"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/ssp/retention"
	"sp00ky.cloud/spky/surreal"
)

// TestABenchLeavesAloneWhatIsKept measures a database whose nodes were told of old rows.
func TestABenchLeavesAloneWhatIsKept(t *testing.T) {
	o := processes(t)
	client, hangUp, err := surreal.Connect(t.Context(), o.DB)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hangUp() }()
	if _, err := schema.Apply(t.Context(), client); err != nil {
		t.Fatal(err)
	}
	if _, err := retention.Configure(t.Context(), client, config.Retention{Success: 6 * time.Hour, MaxRows: 7}, []string{"job"}); err != nil {
		t.Fatal(err)
	}
	kept := func() []map[string]any {
		rows, err := surreal.First[[]map[string]any](t.Context(), client, "SELECT * FROM _00_retention", nil)
		if err != nil || len(rows) != 1 {
			t.Fatalf("%d rows say what is kept, %v", len(rows), err)
		}
		return rows
	}
	before := kept()
	if _, err := bench.Split(t.Context(), bench.SplitOptions{ProcessOptions: o, Count: 50}); err != nil {
		t.Fatal(err)
	}
	if after := kept(); !reflect.DeepEqual(before, after) {
		t.Errorf("what is kept was %v and is %v", before, after)
	}
}
