package proc

import (
	"bytes"
	"io"
	"sync"
)

// longestLine is how much of a line is kept back until its end comes.
const longestLine = 64 << 10

// A Sink lets several writers share one output without mixing their lines.
type Sink struct {
	mu sync.Mutex
	w  io.Writer
}

// NewSink makes a sink that writes to w.
func NewSink(w io.Writer) *Sink { return &Sink{w: w} }

// Write writes p in one piece.
func (s *Sink) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.w.Write(p)
}

// Lines is a writer whose every line comes with a prefix. Flush it at the end:
// a line without its end is kept back.
func (s *Sink) Lines(prefix string) *Lines { return &Lines{sink: s, prefix: prefix} }

// Lines prefixes lines; see [Sink.Lines].
type Lines struct {
	sink   *Sink
	prefix string

	mu  sync.Mutex
	buf []byte
}

// Write passes on the lines that are complete.
func (l *Lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = append(l.buf, p...)
	end := bytes.LastIndexByte(l.buf, '\n') + 1
	if end == 0 && len(l.buf) > longestLine {
		end = len(l.buf)
	}
	if err := l.pass(end); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Flush passes on what has no end yet.
func (l *Lines) Flush() {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.pass(len(l.buf)) // nobody is left to tell
}

func (l *Lines) pass(n int) error {
	if n == 0 {
		return nil
	}
	var out bytes.Buffer
	for line := range bytes.Lines(l.buf[:n]) {
		out.WriteString(l.prefix)
		out.Write(bytes.TrimRight(line, "\r\n"))
		out.WriteByte('\n')
	}
	l.buf = append(l.buf[:0], l.buf[n:]...)
	_, err := l.sink.Write(out.Bytes())
	return err
}
