//go:build unix

package typescript_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"sp00ky.cloud/spky/surreal"
)

const adminSecret = "a-secret-for-the-admin-api-of-this-test"

// aside is the project of a runner that has nothing to do: its table is nobody's.
var aside = map[string]string{
	"sp00ky.yml": `apps:
  aside:
    type: backend
    baseUrl: http://127.0.0.1:1
    spec: openapi.yml
    method: {type: outbox, table: aside, schema: aside.surql}
`,
	"openapi.yml": "openapi: 3.1.0\ninfo: {title: aside, version: '1'}\npaths: {/nothing: {post: {responses: {'200': {description: done}}}}}\n",
	"aside.surql": "DEFINE TABLE IF NOT EXISTS aside SCHEMALESS PERMISSIONS NONE;\n",
}

// admin starts a runner that has nothing to do, for its admin API, and gives the API's address.
func (r *rig) admin() string {
	r.t.Helper()
	path, err := command()
	check(r.t, err)
	dir := r.t.TempDir()
	for name, text := range aside {
		check(r.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	check(r.t, surreal.Exec(r.t.Context(), r.DB, aside["aside.surql"], nil))
	cmd := exec.Command(path, "run", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--log-format", "json") // ended by the cleanup below
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SPKY_AUTH_SECRET="+adminSecret)
	for key, value := range r.environment() {
		cmd.Env = append(cmd.Env, key+"="+value)
	}
	out, err := cmd.StderrPipe()
	check(r.t, err)
	check(r.t, cmd.Start())
	addresses, ended := make(chan string, 1), make(chan struct{})
	go func() {
		defer close(ended)
		listens := regexp.MustCompile(`the admin API listens.*"address":"([^"]+)"`)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if m := listens.FindStringSubmatch(lines.Text()); m != nil {
				addresses <- m[1]
			}
		}
	}()
	r.t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
	})
	select {
	case address := <-addresses:
		return "http://" + address
	case <-ended:
		r.t.Fatal("the runner ended without an admin API")
	case <-time.After(time.Minute):
		r.t.Fatal("no admin API within a minute")
	}
	return ""
}

// bearer adds the secret to requests.
type bearer struct{}

func (bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+adminSecret)
	return http.DefaultTransport.RoundTrip(r)
}

// TestOperatedThroughTheAdminAPI: what the command line does through the admin API, and an agent by MCP,
// works on an instance that the TypeScript SDK has made.
func TestOperatedThroughTheAdminAPI(t *testing.T) {
	t.Parallel()
	p := newTroupe(t)
	address := p.admin()
	id := p.create(t, "APPROVAL", map[string]any{"wait": "30 minutes"})
	p.untilStatus(id, "waiting")
	remote := func(args ...string) string {
		return p.spkyWith([]string{"SPKY_ADMIN_URL=" + address, "SPKY_ADMIN_TOKEN=" + adminSecret}, append([]string{"workflows", "instances"}, args...)...)
	}
	if out := remote("list", "APPROVAL"); !strings.Contains(out, id) {
		t.Errorf("the list is %s", out)
	}
	if out := remote("describe", "APPROVAL", id); !strings.Contains(out, "ask") {
		t.Errorf("the description is %s", out)
	}
	for _, act := range [][2]string{{"pause", "paused"}, {"resume", "waiting"}, {"terminate", "terminated"}, {"restart", "waiting"}} {
		remote(act[0], "APPROVAL", id)
		p.untilStatus(id, act[1])
	}

	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: address + "/admin/api/mcp", HTTPClient: &http.Client{Transport: bearer{}}, DisableStandaloneSSE: true,
	}, nil)
	check(t, err)
	defer func() { check(t, session.Close()) }()
	call := func(tool string, args map[string]any) string { return answered(t, session, tool, args) }
	if out := call("durable_instances_list", map[string]any{"binding": "APPROVAL"}); !strings.Contains(out, id) {
		t.Errorf("the list is %s", out)
	}
	if out := call("durable_instance_get", map[string]any{"id": id}); !strings.Contains(out, "ask") {
		t.Errorf("it is described as %s", out)
	}
	for _, act := range [][2]string{{"durable_instance_pause", "paused"}, {"durable_instance_resume", "waiting"}, {"durable_instance_cancel", "terminated"}, {"durable_instance_restart", "waiting"}} {
		call(act[0], map[string]any{"id": id})
		p.untilStatus(id, act[1])
	}
	call("durable_instance_send_event", map[string]any{"id": id, "type": "approval", "payload": map[string]any{"by": "agent"}})
	row := p.untilStatus(id, "complete")
	if text, err := json.Marshal(row.Output); err != nil || !strings.Contains(string(text), "agent") {
		t.Errorf("the output is %s, %v", text, err)
	}
	p.Consistent(id)
}

// answered calls a tool and gives its structured answer.
func answered(t *testing.T, session *sdk.ClientSession, tool string, args map[string]any) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	got, err := session.CallTool(ctx, &sdk.CallToolParams{Name: tool, Arguments: args})
	check(t, err)
	text, err := json.Marshal(got.StructuredContent)
	check(t, err)
	if got.IsError {
		t.Fatalf("%s: %+v %s", tool, got.Content, text)
	}
	return string(text)
}
