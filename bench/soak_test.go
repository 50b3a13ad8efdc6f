package bench_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/bench"
)

func TestSoakSamplesTheNode(t *testing.T) {
	report, err := bench.Soak(t.Context(), bench.SoakOptions{ProcessOptions: processes(t), For: 2 * time.Second, Rate: 100, Every: 200 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Samples) < 2 || report.Jobs == 0 || report.Rate != 100 {
		t.Fatalf("the report is %+v", report)
	}
	for _, s := range report.Samples {
		if s.RSSMiB <= 0 || s.Goroutines < 5 || s.Sockets < 3 || s.Behind < 0 {
			t.Errorf("a sample is %+v", s)
		}
	}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil || !strings.Contains(out.String(), "an hour") {
		t.Errorf("%q, %v", out.String(), err)
	}
	t.Log("\n" + out.String())
}

func TestSplitTellsWhereTheTimeGoes(t *testing.T) {
	report, err := bench.Split(t.Context(), bench.SplitOptions{ProcessOptions: processes(t), Count: 1000})
	if err != nil {
		t.Fatal(err)
	}
	if report.PerSecond <= 0 || report.Node <= 0 || report.Database <= 0 || report.Bench <= 0 {
		t.Errorf("the report is %+v", report)
	}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
}

func TestWakesMeasuresHowLate(t *testing.T) {
	report, err := bench.Wakes(t.Context(), bench.WorkflowOptions{DB: processes(t).DB, Count: 20})
	if err != nil {
		t.Fatal(err)
	}
	if report.Late.N != 20 || report.Late.P50 <= 0 {
		t.Errorf("the report is %+v", report)
	}
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	t.Log("\n" + out.String())
}
