package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxLine bounds one message, as the HTTP endpoint's body is bounded.
const maxLine = maxBody

// Codes of JSON-RPC for what is no message.
const (
	codeParse   = -32700
	codeInvalid = -32600
)

// lines passes on a client's messages, one a line, and answers itself to lines that are none. The SDK
// would end the connection over the first of those, and with it the agent's whole session. A batch is
// passed on message by message: most versions of the protocol have none.
type lines struct {
	in   *bufio.Reader
	from io.Closer
	out  *wholeWriter
	rest []byte // of what is passed on
}

func newLines(in io.ReadCloser, out *wholeWriter) *lines {
	return &lines{in: bufio.NewReaderSize(in, 64<<10), from: in, out: out}
}

// Read passes on whole lines.
func (l *lines) Read(p []byte) (int, error) {
	for len(l.rest) == 0 {
		line, err := l.line()
		if passed := l.sift(line); len(passed) > 0 {
			l.rest = passed
			break
		}
		if err != nil {
			return 0, err
		}
	}
	n := copy(p, l.rest)
	l.rest = l.rest[n:]
	return n, nil
}

// Close ends the input.
func (l *lines) Close() error { return l.from.Close() }

// line reads the next one, the last with the error of its end. Of one that is too long a little more than
// the bound is kept.
func (l *lines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := l.in.ReadSlice('\n')
		if len(line) <= maxLine {
			line = append(line, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// sift is what of a line is passed on; it answers to the rest.
func (l *lines) sift(line []byte) []byte {
	line = bytes.TrimSpace(line)
	switch {
	case len(line) == 0:
		return nil
	case len(line) > maxLine:
		l.refuse(codeInvalid, fmt.Sprintf("the message is longer than %d bytes", maxLine))
		return nil
	case !json.Valid(line):
		l.refuse(codeParse, "the line is no JSON: "+json.Unmarshal(line, new(any)).Error())
		return nil
	}
	var passed []byte
	for _, message := range apart(line) {
		if _, err := jsonrpc.DecodeMessage(message); err != nil {
			l.refuse(codeInvalid, "the line is no message of JSON-RPC 2.0: "+err.Error())
			continue
		}
		var plain bytes.Buffer
		if err := json.Compact(&plain, message); err == nil { // it is valid
			passed = append(append(passed, plain.Bytes()...), '\n')
		}
	}
	return passed
}

// apart is the messages of a line. An empty batch is passed on as a message that it is not.
func apart(line []byte) []json.RawMessage {
	var batch []json.RawMessage
	if line[0] != '[' || json.Unmarshal(line, &batch) != nil || len(batch) == 0 {
		return []json.RawMessage{line}
	}
	return batch
}

// refuse answers to what is no message, which has no id that could be told. A client that is gone does
// not hear it.
func (l *lines) refuse(code int, message string) {
	answer, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": code, "message": clean(cut(message, 300))}})
	if err == nil {
		_, _ = l.out.Write(append(answer, '\n'))
	}
}

// A wholeWriter writes one message at a time, whoever writes.
type wholeWriter struct {
	mu sync.Mutex
	io.WriteCloser
}

// Write writes a whole message.
func (w *wholeWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.WriteCloser.Write(p)
}
