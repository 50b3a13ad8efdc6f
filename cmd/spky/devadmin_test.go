//go:build unix

package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
)

var printsAdmin = regexp.MustCompile(`admin API +(http://\S+) +token (\S+)`)

// TestDevServesTheAdminAPI takes address and token from what `spky dev` prints, for the API and for MCP; the
// token is the same the next time.
func TestDevServesTheAdminAPI(t *testing.T) {
	t.Parallel()
	dir := devProject(t, "crash")
	token := ""
	for range 2 {
		s := startDev(t, dir)
		s.await("jobs create")
		printed := printsAdmin.FindStringSubmatch(s.out.String())
		if printed == nil {
			t.Fatalf("no address and token of the admin API in\n%s", s.out)
		}
		if token != "" && printed[2] != token {
			t.Errorf("the second time the token is another")
		}
		token = printed[2]
		ask := func(method, path, token, body string) (int, string) {
			t.Helper()
			request, err := http.NewRequestWithContext(t.Context(), method, printed[1]+path, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			request.Header.Set("Authorization", "Bearer "+token)
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			text, err := io.ReadAll(answer.Body)
			if err != nil {
				t.Fatal(err)
			}
			return answer.StatusCode, string(text)
		}
		if status, text := ask(http.MethodGet, "/admin/api/me", token, ""); status != http.StatusOK || !strings.Contains(text, `"scope":"full"`) {
			t.Errorf("me: %d %s", status, text)
		}
		const list = `{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}`
		if status, text := ask(http.MethodPost, "/admin/api/mcp", token, list); status != http.StatusOK || !strings.Contains(text, `"durable_instance_pause"`) {
			t.Errorf("MCP: %d %.300s", status, text)
		}
		if status, _ := ask(http.MethodPost, "/admin/api/mcp", "wrong", list); status != http.StatusUnauthorized {
			t.Errorf("MCP with a wrong token: %d", status)
		}
		kept, err := os.Stat(filepath.Join(dir, ".sp00ky", "admin-token"))
		if err != nil || kept.Mode().Perm() != 0o600 {
			t.Errorf("the token is kept with mode %v: %v", kept.Mode(), err)
		}
		_ = s.cmd.Process.Signal(syscall.SIGINT)
		if code := s.code(); code != exitOK {
			t.Errorf("spky dev ended with %d", code)
		}
	}
}
