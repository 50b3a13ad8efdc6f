package bench_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/bench"
)

func TestAllTakesEveryFigureAndComparesWithTheLast(t *testing.T) {
	table, err := bench.All(t.Context(), bench.AllOptions{
		ProcessOptions: processes(t), Jobs: 300, Instances: 20, Wakes: 10, Rows: 2000, Sleeping: 600, Samples: 20, Events: 5, Idle: 200 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range table.Figures {
		if f.Value < 0 || f.Bound > 0 && f.Ratio <= 0 || f.Unit == "" {
			t.Errorf("a figure is %+v", f)
		}
	}
	file := filepath.Join(t.TempDir(), "last.json")
	if none, err := bench.ReadTable(file); none != nil || err != nil {
		t.Errorf("no table is %v, %v", none, err)
	}
	if err := table.Save(file); err != nil {
		t.Fatal(err)
	}
	if table.Last, err = bench.ReadTable(file); err != nil {
		t.Fatal(err)
	}
	var text, page bytes.Buffer
	if err := table.Write(&text); err != nil {
		t.Fatal(err)
	}
	if err := table.Markdown(&page); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{text.String(), page.String()} {
		for _, f := range table.Figures {
			if !strings.Contains(out, f.Name) {
				t.Errorf("%s is missing", f.Name)
			}
		}
		if !strings.Contains(out, "last: "+table.At.Format(time.DateTime)) {
			t.Errorf("the last run is missing in %s", out)
		}
	}
	t.Log("\n" + text.String())
}

func TestAFigureHoldsWhereItIsAsWanted(t *testing.T) {
	for _, c := range []struct {
		figure bench.Figure
		holds  bool
		want   string
	}{
		{bench.Figure{Value: 5}, true, ""},
		{bench.Figure{Value: 5, Want: bench.Want{Least: 5}}, true, "≥ 5.00"},
		{bench.Figure{Value: 4, Want: bench.Want{Least: 5}}, false, "≥ 5.00"},
		{bench.Figure{Value: 1500, Ratio: .6, Want: bench.Want{Least: 1400, LeastRatio: .7}}, false, "≥ 1,400, ratio ≥ 0.70"},
		{bench.Figure{Value: 3, Ratio: 1.5, Want: bench.Want{Most: 3.5, MostRatio: 2}}, true, "≤ 3.50, ratio ≤ 2.00"},
		{bench.Figure{Value: 3, Ratio: 2.5, Want: bench.Want{Most: 3.5, MostRatio: 2}}, false, "≤ 3.50, ratio ≤ 2.00"},
	} {
		if c.figure.Holds() != c.holds || c.figure.Want.String() != c.want {
			t.Errorf("%+v holds %t, wants %q", c.figure, c.figure.Holds(), c.figure.Want)
		}
	}
}
