package mcp

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// TestDocs holds the table of tools in docs/mcp.md against the server.
func TestDocs(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	server := newRig(t).server
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `([a-z_]+)` \\| (read|full|full, destructive) \\|").FindAllStringSubmatch(string(text), -1) {
		documented[row[1]] = row[2]
	}
	if got := sorted(documented); !slices.Equal(got, server.Tools()) {
		t.Errorf("docs/mcp.md has the tools %v, the server %v", got, server.Tools())
	}
	for tool, scope := range documented {
		want := map[effect]string{reads: "read", changes: "full", destroys: "full, destructive"}[server.effects[tool]]
		if scope != want {
			t.Errorf("docs/mcp.md says %s of %s, it is %s", scope, tool, want)
		}
	}
}
