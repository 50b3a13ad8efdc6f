package mcp_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
)

// A tsClient is the TypeScript SDK's client, in a process of its own. It is used by one goroutine.
type tsClient struct {
	*stage

	in      io.WriteCloser
	answers chan reply
	updates chan string
	log     *lines
	last    int
}

// A reply is a line that the client printed.
type reply struct {
	ID      int             `json:"id"`
	OK      json.RawMessage `json:"ok"`
	Error   string          `json:"error"`
	Updated string          `json:"updated"`
}

// overStdio starts a client that starts spky mcp serve.
func (s *stage) overStdio(flags ...string) *tsClient {
	s.t.Helper()
	c := s.client(append([]string{"stdio", spky(s.t), "mcp", "serve"}, flags...)...)
	c.do("connect", nil)
	return c
}

// overStdioAfar starts a client that starts spky mcp serve, on the stage's admin API.
func (s *stage) overStdioAfar(token string) *tsClient {
	s.t.Helper()
	s.env = append(s.env, "SPKY_ADMIN_TOKEN="+token)
	return s.overStdio("--url", s.api)
}

// overHTTP starts a client of the stage's admin API.
func (s *stage) overHTTP(token string) *tsClient {
	s.t.Helper()
	c := s.client("http", s.api+"/admin/api/mcp", token)
	c.do("connect", nil)
	return c
}

// strange is what a client of the admin API learns who has no good token.
func (s *stage) strange(token string) reply {
	s.t.Helper()
	return s.client("http", s.api+"/admin/api/mcp", token).try("connect", nil)
}

// client starts a client that has not connected yet.
func (s *stage) client(args ...string) *tsClient {
	s.t.Helper()
	c := &tsClient{stage: s, answers: make(chan reply, 1), updates: make(chan string, 100), log: &lines{}}
	cmd := exec.CommandContext(s.ctx, "node", append([]string{filepath.Join(clientsDir(s.t), "client.mjs")}, args...)...)
	cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = s.dir, s.env, c.log, patience
	in, err := cmd.StdinPipe()
	check(s.t, err)
	out, err := cmd.StdoutPipe()
	check(s.t, err)
	check(s.t, cmd.Start())
	c.in = in
	ended := make(chan error, 1)
	go func() { ended <- errors.Join(c.listen(out), cmd.Wait()) }()
	s.t.Cleanup(func() {
		_ = in.Close() // the client ends then, and what it has started
		if err := <-ended; err != nil {
			s.t.Errorf("the client: %v\n%s", err, c.log.all())
		}
	})
	return c
}

// listen hands on what the client prints, until it ends.
func (c *tsClient) listen(out io.Reader) error {
	defer close(c.answers)
	scanner := bufio.NewScanner(out)
	scanner.Buffer(nil, 16<<20)
	for scanner.Scan() {
		var r reply
		if err := json.Unmarshal(scanner.Bytes(), &r); err != nil {
			return err
		}
		if r.Updated != "" {
			c.updates <- r.Updated
			continue
		}
		c.answers <- r
	}
	return scanner.Err()
}

// try has the client do something, and answers with what came of it.
func (c *tsClient) try(action string, args map[string]any) reply {
	c.t.Helper()
	c.last++
	command := map[string]any{"id": c.last, "do": action}
	for name, value := range args {
		command[name] = value
	}
	text, err := json.Marshal(command)
	check(c.t, err)
	_, err = c.in.Write(append(text, '\n'))
	check(c.t, err)
	select {
	case r, ok := <-c.answers:
		if !ok || r.ID != c.last {
			c.t.Fatalf("%s: the client answered %+v, or ended\n%s", action, r, c.log.all())
		}
		return r
	case <-c.ctx.Done():
		c.t.Fatalf("%s: the client does not answer\n%s", action, c.log.all())
	}
	return reply{}
}

// do has the client do what has to work.
func (c *tsClient) do(action string, args map[string]any) json.RawMessage {
	c.t.Helper()
	r := c.try(action, args)
	if r.Error != "" {
		c.t.Fatalf("%s %v: %s\n%s", action, args, r.Error, c.log.all())
	}
	return r.OK
}

// A result is a tool's.
type result struct {
	Content []struct {
		Text string `json:"text"`
	} `json:"content"`
	Structured json.RawMessage `json:"structuredContent"`
	IsError    bool            `json:"isError"`
}

func (r result) text() string {
	var all []string
	for _, c := range r.Content {
		all = append(all, c.Text)
	}
	return strings.Join(all, "\n")
}

// call calls a tool. The client holds structured answers against the tool's schema.
func (c *tsClient) call(tool string, args map[string]any) result {
	c.t.Helper()
	var got result
	check(c.t, json.Unmarshal(c.do("call", map[string]any{"name": tool, "args": args}), &got))
	return got
}

// ok calls a tool that has to work, and reads the structured answer.
func (c *tsClient) ok(tool string, args map[string]any, into any) {
	c.t.Helper()
	got := c.call(tool, args)
	if got.IsError || len(got.Structured) == 0 || got.text() == "" {
		c.t.Fatalf("%s %v: %+v", tool, args, got)
	}
	if into != nil {
		check(c.t, json.Unmarshal(got.Structured, into))
	}
}

// refused calls a tool that has to say no, with a code.
func (c *tsClient) refused(tool string, args map[string]any, code string) {
	c.t.Helper()
	got := c.call(tool, args)
	var fault struct {
		Code, Message, Hint string
	}
	if !got.IsError || json.Unmarshal([]byte(got.text()), &fault) != nil || fault.Code != code || fault.Message == "" || fault.Hint == "" {
		c.t.Fatalf("%s %v: %+v, want an error of the tool with the code %s", tool, args, got, code)
	}
}

// moved waits for the news that a resource has changed.
func (c *tsClient) moved(uri string) {
	c.t.Helper()
	select {
	case got := <-c.updates:
		if got != uri {
			c.t.Fatalf("told that %s changed, want %s", got, uri)
		}
	case <-c.ctx.Done():
		c.t.Fatalf("nobody told that %s changed\n%s", uri, c.log.all())
	}
}

// tools are what the client sees, by name, and whether each only reads.
func (c *tsClient) tools() map[string]bool {
	c.t.Helper()
	var all []struct {
		Name        string
		Annotations struct {
			ReadOnlyHint bool
		}
	}
	check(c.t, json.Unmarshal(c.do("tools", nil), &all))
	seen := map[string]bool{}
	for _, tool := range all {
		seen[tool.Name] = tool.Annotations.ReadOnlyHint
	}
	return seen
}
