package mcp_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sp00ky.cloud/spky/mcp"
)

// passing are the scenarios of the public conformance suite that need no fixtures of their own.
func passing() []string {
	return []string{"server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection", "logging-set-level", "completion-complete"}
}

// TestConformance runs the public conformance suite against the server as it is served over HTTP.
func TestConformance(t *testing.T) {
	s := newStage(t)
	server := mcp.New(mcp.Config{Instances: s.durable, Jobs: s.jobs})
	t.Cleanup(server.Close)
	listener := httptest.NewServer(server.Handler())
	t.Cleanup(listener.Close)
	scenarios := passing()
	if one := os.Getenv("SPKY_TEST_CONFORMANCE"); one != "" {
		scenarios = []string{one}
	}
	for _, scenario := range scenarios {
		t.Run(scenario, func(t *testing.T) {
			cmd := exec.CommandContext(s.ctx, filepath.Join(clientsDir(t), "node_modules", ".bin", "conformance"), "server", "--url", listener.URL, "--scenario", scenario)
			cmd.Dir = s.dir
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
		})
	}
}
