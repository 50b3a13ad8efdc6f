package mcp_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"testing"
)

// TestInspector has the MCP Inspector's command line list and call tools, over both transports.
func TestInspector(t *testing.T) {
	s := newStage(t)
	s.daemon()
	id := s.instance("looked-at")
	s.reaches(id, "waiting")
	for name, target := range map[string][]string{
		"stdio": {spky(t), "mcp", "serve"},
		"http":  {s.api + "/admin/api/mcp", "--transport", "http", "--header", "Authorization: Bearer " + fullToken},
	} {
		t.Run(name, func(t *testing.T) {
			var listed struct{ Tools []struct{ Name string } }
			check(t, json.Unmarshal([]byte(s.inspect(t, target, "--method", "tools/list")), &listed))
			var names []string
			for _, tool := range listed.Tools {
				names = append(names, tool.Name)
			}
			for _, tool := range append(reading(), writing()...) {
				if !slices.Contains(names, tool) {
					t.Errorf("%s is not listed: %v", tool, names)
				}
			}
			var got result
			check(t, json.Unmarshal([]byte(s.inspect(t, target, "--method", "tools/call", "--tool-name", "durable_instances_list",
				"--tool-arg", "status=waiting", "--tool-arg", "limit=5")), &got))
			var list struct{ Instances []struct{ ID string } }
			check(t, json.Unmarshal(got.Structured, &list))
			if got.IsError || len(list.Instances) != 1 || list.Instances[0].ID != id {
				t.Errorf("the list: %+v", got)
			}
			check(t, json.Unmarshal([]byte(s.inspect(t, target, "--method", "tools/call", "--tool-name", "durable_instance_resume", "--tool-arg", "id="+id)), &got))
			if !got.IsError {
				t.Errorf("resumed what was not paused: %+v", got)
			}
			var templates struct {
				ResourceTemplates []struct{ URITemplate string }
			}
			check(t, json.Unmarshal([]byte(s.inspect(t, target, "--method", "resources/templates/list")), &templates))
			if len(templates.ResourceTemplates) != 2 {
				t.Errorf("templates: %+v", templates)
			}
		})
	}
}

// inspect runs the inspector, and gives what it printed.
func (s *stage) inspect(t *testing.T, target []string, args ...string) string {
	t.Helper()
	return run(s.ctx, t, s.dir, s.env, filepath.Join(clientsDir(t), "node_modules", ".bin", "mcp-inspector"), slices.Concat([]string{"--cli"}, target, args)...)
}
