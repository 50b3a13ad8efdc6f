package bench_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sp00ky.cloud/spky/bench"
)

// TestThePageHoldsTheTableThatIsSaved compares docs/benchmarks.md with last.json: saving writes both.
func TestThePageHoldsTheTableThatIsSaved(t *testing.T) {
	last, err := bench.ReadTable("last.json")
	if err != nil || last == nil {
		t.Fatalf("the last table is %v, %v", last, err)
	}
	page, err := os.ReadFile("../docs/benchmarks.md")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, page, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := last.SavePage(file); err != nil {
		t.Fatal(err)
	}
	again, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(again) != string(page) {
		t.Error("docs/benchmarks.md does not hold the table of bench/last.json; `spky bench last --save` puts it there")
	}
	if !strings.Contains(string(page), last.Figures[0].Name) {
		t.Error("the page holds no figure")
	}
}

func TestAPageWithoutAPlaceStaysAsItIs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte("# A page\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (bench.Table{}).SavePage(file); !errors.Is(err, bench.ErrPage) {
		t.Errorf("saved: %v", err)
	}
	if text, err := os.ReadFile(file); err != nil || string(text) != "# A page\n" {
		t.Errorf("the page is %q, %v", text, err)
	}
}
