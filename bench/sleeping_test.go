package bench_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/surreal"
)

func TestSleepingMeasuresANodeBesideInstancesAndLeavesNone(t *testing.T) {
	o := processes(t)
	report, err := bench.Sleeping(t.Context(), bench.SleepingOptions{ProcessOptions: o, Instances: 1200, Watch: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if report.Without.RSSMiB <= 0 || report.With.RSSMiB <= 0 || report.Instances != 1200 {
		t.Errorf("the report is %+v", report)
	}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil || !strings.Contains(out.String(), "1200 that sleep") {
		t.Errorf("%q, %v", out.String(), err)
	}
	t.Log("\n" + out.String())
	client, hangUp, err := surreal.Connect(t.Context(), o.DB)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = hangUp() }()
	rows, err := surreal.First[[]surreal.RecordID](t.Context(), client, "SELECT VALUE id FROM _00_wf_instance", nil)
	if err != nil || len(rows) > 0 {
		t.Errorf("%d instances are left, %v", len(rows), err)
	}
}
