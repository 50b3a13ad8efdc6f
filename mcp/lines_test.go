package mcp

import (
	"bufio"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"sp00ky.cloud/spky/admin"
)

// TestALineThatIsNoMessageEndsNothing writes all kinds of lines to a server on streams, in the midst of a
// session: each is answered with an error, and the session goes on.
func TestALineThatIsNoMessageEndsNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	fromClient, toServer := io.Pipe()
	fromServer, toClient := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- r.server.Serve(scoped(r.ctx, admin.ScopeRead), fromClient, toClient) }()
	answers := bufio.NewReader(fromServer)
	say := func(line string) string {
		t.Helper()
		written := make(chan error, 1)
		go func() { _, err := io.WriteString(toServer, line+"\n"); written <- err }()
		answer, err := answers.ReadString('\n')
		if err != nil {
			t.Fatalf("%.100q is answered with %q, %v", line, answer, err)
		}
		if err := <-written; err != nil {
			t.Fatal(err)
		}
		return answer
	}
	hello := say(`{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "` + legacy + `", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}}`)
	if !strings.Contains(hello, `"serverInfo"`) {
		t.Fatalf("the beginning is answered with %s", hello)
	}
	for line, code := range map[string]string{
		"not JSON": "-32700", "{": "-32700", "{}}": "-32700", "\xff\xfe": "-32700", `{"jsonrpc": "2.0"} x`: "-32700", strings.Repeat("[", 100_000): "-32700",
		"5": "-32600", "null": "-32600", "{}": "-32600", "[]": "-32600", `"x"`: "-32600", `[5]`: "-32600", `{"jsonrpc": "1.0", "id": 1, "method": "ping"}`: "-32600",
		`{"jsonrpc": "2.0", "id": {}, "method": "ping"}`: "-32600", `{"jsonrpc": "2.0", "id": 1, "method": 5}`: "-32600", `{"jsonrpc": "2.0", "result": 1}`: "-32600",
		`"` + strings.Repeat("x", maxLine) + `"`: "-32600",
	} {
		if got := say(line); !strings.Contains(got, `"code":`+code) || !strings.Contains(got, `"id":null`) || !json.Valid([]byte(got)) {
			t.Errorf("%.100q is answered with %s", line, got)
		}
		if got := say(" {\"jsonrpc\": \"2.0\", \"id\": 2,\t\"method\": \"ping\"}\r"); !strings.Contains(got, `"result"`) {
			t.Fatalf("after %.100q a ping is answered with %s", line, got)
		}
	}
	if got := say(`[{"jsonrpc": "2.0", "id": 3, "method": "ping"}]`); !strings.Contains(got, `"id":3`) || !strings.Contains(got, `"result"`) {
		t.Errorf("a batch is answered with %s", got)
	}
	_ = toServer.Close()
	if err := <-ended; err != nil {
		t.Errorf("serve: %v", err)
	}
	_ = fromServer.Close()
}

// FuzzLines has anything as a client's input: what is passed on are messages, one a line, and all that is
// written in answer is JSON.
func FuzzLines(f *testing.F) {
	for _, text := range []string{
		"", "\n\n", `{"jsonrpc":"2.0","id":1,"method":"ping"}`, "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"ping\"}", "x\n{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n\xff",
		`[{"jsonrpc":"2.0","id":1,"method":"ping"},5]`, `[[]]`, `[]`, "\r\n{}\r\n", `{"jsonrpc":"2.0","id":"\u2028","result":null}`, `{"jsonrpc":"2.0","method":"a"}{"jsonrpc":"2.0","method":"b"}`,
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		var answers strings.Builder
		passed, err := io.ReadAll(newLines(io.NopCloser(strings.NewReader(string(text))), &wholeWriter{WriteCloser: discarding{&answers}}))
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(passed)) {
			if _, err := jsonrpc.DecodeMessage([]byte(line)); err != nil || !strings.HasSuffix(line, "\n") {
				t.Fatalf("%q is passed on as %q: %v", text, line, err)
			}
		}
		for line := range strings.Lines(answers.String()) {
			if !json.Valid([]byte(line)) {
				t.Fatalf("%q is answered with %q", text, line)
			}
		}
	})
}

// discarding is a writer that is never closed.
type discarding struct{ io.Writer }

func (discarding) Close() error { return nil }
