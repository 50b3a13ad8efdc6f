package world

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEditsFit: every text that is replaced while the program is compiled is still in its sources, whichever sabotage is to be.
func TestEditsFit(t *testing.T) {
	t.Parallel()
	goroot, err := output(t.Context(), "", "go", "env", "GOROOT")
	if err != nil {
		t.Fatal(err)
	}
	all := append(pruneEdits(), clockEdits()...)
	for _, edits := range sabotages() {
		all = append(all, edits...)
	}
	for _, e := range all {
		path := filepath.Join("..", "..", "..", e.file)
		if rest, ok := strings.CutPrefix(e.file, "$GOROOT/"); ok {
			path = filepath.Join(goroot, rest)
		}
		if e.old == "" {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(text), e.old) {
			t.Errorf("%s does not contain %q any more", e.file, e.old)
		}
	}
}
