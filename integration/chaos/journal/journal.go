// Package journal is what the processes of a chaos run tell of themselves, each in a file of its own that
// it only appends to. What a process has written is there even if it is killed at that moment.
package journal

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// What an entry tells.
const (
	// Of backends, for every request: it came, it was answered.
	Request = "request"
	Answer  = "answer"
	Given   = "given" // to a job of a DAG, of the answers to those before it
	// Of workflows: a pass over the code began; a step's function was called.
	Pass = "pass"
	Call = "call"
	// Of the driver.
	Created = "created" // a job or an instance exists
	Verb    = "verb"    // somebody acted on a job or an instance, and what he was told
	Fault   = "fault"
	// Of operators: what one asks of the admin API, and what he was told; the nonce is that of the call.
	Asked = "asked"
	Told  = "told"
)

// An Entry is one line. Which fields are set depends on What.
type Entry struct {
	At      int64  `json:"at"` // Unix nanoseconds, by the machine's clock
	What    string `json:"what"`
	Process string `json:"process,omitempty"`
	// Job and Node of a request: the job's id as text, the node's name without what a life adds to it.
	Job     string `json:"job,omitempty"`
	Node    string `json:"node,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	// Nonce is unique to a request, or to a pass. A backend's answers contain it, results of steps name their pass.
	Nonce  string `json:"nonce,omitempty"`
	Status int    `json:"status,omitempty"`
	// Instance and Step of workflows.
	Instance string `json:"instance,omitempty"`
	Step     string `json:"step,omitempty"`
	// Run is that of a DAG, or the name of a schedule.
	Run string `json:"run,omitempty"`
	// Text for people, or a verb and its outcome.
	Text string `json:"text,omitempty"`
}

func (e Entry) String() string {
	text := fmt.Sprintf("%s journal  %-7s %s", time.Unix(0, e.At).UTC().Format("15:04:05.000000"), e.What, e.Process)
	for _, part := range []struct{ name, value string }{
		{"job", e.Job}, {"from", e.Node}, {"instance", e.Instance}, {"run", e.Run}, {"step", e.Step}, {"nonce", e.Nonce}, {"", e.Text},
	} {
		if part.value != "" {
			text += fmt.Sprintf(" %s %s", part.name, part.value)
		}
	}
	if e.Attempt > 0 {
		text += fmt.Sprintf(" attempt %d", e.Attempt)
	}
	if e.Status > 0 {
		text += fmt.Sprintf(" status %d", e.Status)
	}
	return text
}

// A Writer appends to one file. It may be used from any goroutine.
type Writer struct {
	process string
	mu      sync.Mutex
	file    *os.File
}

// Open opens a process's file; it continues one that an earlier life of the process has written.
func Open(path, process string) (*Writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open journal: %w", err)
	}
	return &Writer{process: process, file: file}, nil
}

// Write appends an entry; its time and process are filled in. A journal that can't be written makes the
// run worthless, so that is a panic.
func (w *Writer) Write(e Entry) {
	e.At, e.Process = time.Now().UnixNano(), w.process
	line, err := json.Marshal(e)
	if err != nil {
		panic(fmt.Errorf("write journal: %w", err))
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.file.Write(append(line, '\n')); err != nil { // one system call: no kill cuts a line
		panic(fmt.Errorf("write journal: %w", err))
	}
}

// Close closes the file.
func (w *Writer) Close() error { return w.file.Close() }

// Read reads all journals of a directory.
func Read(dir string) ([]Entry, error) {
	paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return nil, err
	}
	if len(paths) == 0 {
		return nil, fmt.Errorf("read journals: none in %s", dir)
	}
	var all []Entry
	for _, path := range paths {
		if all, err = readOne(path, all); err != nil {
			return nil, fmt.Errorf("read journal %s: %w", path, err)
		}
	}
	return all, nil
}

func readOne(path string, all []Entry) ([]Entry, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		switch {
		case errors.Is(err, io.EOF) && len(line) == 0:
			return all, nil
		case err != nil:
			return nil, fmt.Errorf("the last line is cut: %w", err)
		}
		var e Entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%.200s: %w", line, err)
		}
		all = append(all, e)
	}
}
