package bench_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

func TestJobsMeasuresEverythingOnARealDatabase(t *testing.T) {
	db := devdbtest.Fresh(t)
	report, err := bench.Jobs(t.Context(), bench.Options{
		DB:    surreal.Config{Endpoint: db.Endpoint, Namespace: db.Namespace, Database: db.Database, Username: db.User, Password: db.Password},
		Count: 300, Samples: 20, Rate: 100, Backlog: 100, Idle: time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Requests != 300 {
		t.Errorf("%d requests for 300 jobs", report.Requests)
	}
	for name, figure := range map[string]float64{
		"throughput": report.Throughput, "ceiling": report.Ceiling, "of ceiling": report.OfCeiling, "inserts": report.Inserts,
		"drain": report.DrainPerSecond, "latency": report.Latency.P50, "bare LIVE": report.Live.P50, "of bare LIVE": report.OfLive, "heap": report.HeapMiB,
	} {
		if figure <= 0 {
			t.Errorf("%s is %v", name, figure)
		}
	}
	wantLegs(t, report.Latency, report.LatencyLegs, "inserted", "announced, claimed and sent")
	var out bytes.Buffer
	if err := report.Write(&out); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "throughput") {
		t.Errorf("the report is %q", out.String())
	}
	t.Log(out.String())
}

func TestJobsRefusesNegativeOptions(t *testing.T) {
	if _, err := bench.Jobs(t.Context(), bench.Options{Count: -1}); err == nil || !strings.Contains(err.Error(), "negative") {
		t.Errorf("the error is %v", err)
	}
}
