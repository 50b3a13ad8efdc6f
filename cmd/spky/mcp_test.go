package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestMCPInstall holds the configurations in docs/mcp.md against what is printed.
func TestMCPInstall(t *testing.T) {
	t.Parallel()
	docs, err := os.ReadFile("../../docs/mcp.md")
	if err != nil {
		t.Fatal(err)
	}
	p := newProject(t, "http://127.0.0.1:1")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```(?:json|toml) ([^\n]+)\n(.*?)```").FindAllStringSubmatch(string(docs), -1)
	if len(blocks) < 5 {
		t.Fatalf("docs/mcp.md has %d configurations", len(blocks))
	}
	for _, block := range blocks {
		args := append([]string{"mcp", "install", "--client"}, strings.Fields(block[1])...)
		if len(args) == 4 {
			args = append(args, "--read-only")
		}
		code, stdout, stderr := p.run(args...)
		got := strings.NewReplacer(self, "/path/to/spky", p.config, "/path/to/sp00ky.yml").Replace(stdout)
		if code != exitOK || got != block[2] {
			t.Errorf("%v: %d\n%s%s\ndocs/mcp.md has\n%s", args, code, got, stderr, block[2])
		}
	}
}

// TestMCPInstallForEveryone shows that what is printed can be read by who it is for, and holds no secret.
func TestMCPInstallForEveryone(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	p.set("SPKY_ADMIN_TOKEN", "very-secret-token")
	for _, name := range agentNames() {
		for _, args := range [][]string{
			nil, {"--db-url", "ws://db:8000", "--db-pass", "very-secret-password"}, {"--url", "http://127.0.0.1:9668"},
		} {
			code, stdout, stderr := p.run(append([]string{"mcp", "install", "--client", name}, args...)...)
			if code != exitOK || !strings.Contains(stdout, "spky") || strings.Contains(stdout+stderr, "very-secret") {
				t.Errorf("%s %v: %d\n%s%s", name, args, code, stdout, stderr)
			}
			if name != "codex" && !json.Valid([]byte(stdout)) {
				t.Errorf("%s %v is no JSON:\n%s", name, args, stdout)
			}
		}
	}
	if code, _, stderr := p.run("mcp", "install"); code != exitUsage || !strings.Contains(stderr, "cursor") {
		t.Errorf("without a client: %d %s", code, stderr)
	}
	if code, _, stderr := p.run("mcp", "install", "--client", "nobody"); code != exitUsage || !strings.Contains(stderr, "cursor") {
		t.Errorf("an unknown client: %d %s", code, stderr)
	}
}

// TestMCPServeEndsWithItsInput shows that nothing but the protocol is printed, and that the end of the
// input ends it, also while the database is away.
func TestMCPServeEndsWithItsInput(t *testing.T) {
	t.Parallel()
	p := newProject(t, "http://127.0.0.1:1")
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`
	for _, endpoint := range []string{p.target.Endpoint, "ws://127.0.0.1:1"} {
		p.set("SPKY_DB_URL", endpoint)
		in, write := io.Pipe()
		read, out := io.Pipe()
		ended := make(chan int, 1)
		var log bytes.Buffer
		go func() {
			ended <- p.start(t.Context(), in, out, &log, "mcp", "serve")
			_ = out.Close()
		}()
		if _, err := io.WriteString(write, hello+"\n"); err != nil {
			t.Fatal(err)
		}
		printed := bufio.NewReader(read)
		answer, err := printed.ReadString('\n')
		if err != nil || !strings.HasPrefix(answer, `{"jsonrpc":"2.0","id":1,"result":`) {
			t.Errorf("%s: %q, %v", endpoint, answer, err)
		}
		_ = write.Close()
		rest, err := io.ReadAll(printed)
		if code := <-ended; code != exitOK || len(rest) > 0 || err != nil {
			t.Errorf("%s: exit code %d, %q printed after the answer, %v\n%s", endpoint, code, rest, err, log.String())
		}
	}
}

// TestProgramsThatGoRunMade are told from those that stay.
func TestProgramsThatGoRunMade(t *testing.T) {
	t.Parallel()
	for program, want := range map[string]bool{
		"/home/ann/.cache/go-build/f0/f0bb15-d/spky": true, "/tmp/go-build2614/b001/exe/spky": true, "/home/ann/spky/bin/spky": false, "/usr/local/bin/spky": false,
	} {
		if got := passing(program); got != want {
			t.Errorf("%s: %t", program, got)
		}
	}
}
