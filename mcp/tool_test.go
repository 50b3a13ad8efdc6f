package mcp

import (
	"encoding/json"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
)

// TestToolsAreDescribed holds each tool against what agents need to choose and call it.
func TestToolsAreDescribed(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	c := r.connect(admin.ScopeFull)
	all, err := c.session.ListTools(c.ctx, nil)
	c.check(err)
	text, err := json.Marshal(all)
	c.check(err)
	t.Logf("%d tools are described in %d bytes", len(all.Tools), len(text))
	if len(text) > 50<<10 { // of 36 tools
		t.Errorf("the tools are described in %d bytes", len(text))
	}
	for _, tool := range all.Tools {
		if tool.Title == "" || len(tool.Description) < 40 || tool.Annotations == nil || tool.Annotations.DestructiveHint == nil {
			t.Errorf("%s: title %q, description %q, annotations %+v", tool.Name, tool.Title, tool.Description, tool.Annotations)
		}
		if e := r.server.effects[tool.Name]; tool.Annotations.ReadOnlyHint != (e == reads) || *tool.Annotations.DestructiveHint != (e == destroys) {
			t.Errorf("%s: hints %+v of an effect %d", tool.Name, tool.Annotations, e)
		}
		for what, s := range map[string]any{"input": tool.InputSchema, "output": tool.OutputSchema} {
			text, err := json.Marshal(s)
			c.check(err)
			if !strings.Contains(string(text), `"type":"object"`) || strings.Contains(string(text), `"null"`) || strings.Contains(strings.ReplaceAll(string(text), `"additionalProperties":true`, ""), ":true") {
				t.Errorf("the %s schema of %s: %s", what, tool.Name, text)
			}
		}
	}
}
