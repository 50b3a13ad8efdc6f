package bench_test

import (
	"bytes"
	"testing"
	"time"

	"sp00ky.cloud/spky/bench"
)

func TestBacklogMeasuresEverySize(t *testing.T) {
	report, err := bench.Backlog(t.Context(), bench.BacklogOptions{ProcessOptions: processes(t), Rows: 3000, Watch: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Sizes) != 2 || report.Sizes[0].Rows != 1000 || report.Sizes[1].Rows != 3000 {
		t.Fatalf("sizes are %+v", report.Sizes)
	}
	for _, s := range report.Sizes {
		if s.Look <= 0 || s.Claim <= 0 || s.PerSecond <= 0 || s.Full.RSSMiB <= 0 || s.Full.HeapMiB <= 0 {
			t.Errorf("measured %+v", s)
		}
	}
	if report.ClaimGrowth <= 0 || report.LookGrowth <= 0 || report.Idle.RSSMiB <= 0 {
		t.Errorf("the report is %+v", report)
	}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
}
