package typescript_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"sync"

	"sp00ky.cloud/spky/integration/internal/durable"
)

// A stage is what the test knows of the performance of one case, whatever process it happened in: what its functions
// saw, and the latches that hold them.
type stage struct {
	c       conformance
	binding string

	reports *reports

	mu      sync.Mutex
	seen    map[string][]int
	ended   map[string]bool
	counts  map[string]int
	latches map[string]chan struct{}
	came    map[string]string // what each step came to, as the workflow saw it
	faults  []string          // steps that came to two things
}

func newStage(c conformance, r *reports) *stage {
	return &stage{c: c, binding: "CASE_" + c.ID, reports: r, seen: map[string][]int{}, ended: map[string]bool{}, counts: map[string]int{}, latches: map[string]chan struct{}{}, came: map[string]string{}}
}

// A report is a line of what the processes write.
type report struct {
	What    string `json:"what"`
	Case    string `json:"case"`
	Key     string `json:"key"`
	Attempt int    `json:"attempt"`
	Label   string `json:"label"`
	To      string `json:"to"`
	Name    string `json:"name"`
}

// Reports are what all processes of a mode have written so far, by case. Processes write to a file, because a kill can't
// take back what is in it.
type reports struct {
	stages map[string]*stage
	path   string

	mu   sync.Mutex
	read int64
}

// refresh reads what has been written since.
func (r *reports) refresh() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	file, err := os.Open(r.path)
	if err != nil {
		return err
	}
	defer file.Close()
	if _, err := file.Seek(r.read, io.SeekStart); err != nil {
		return err
	}
	data, err := io.ReadAll(file)
	if err != nil {
		return err
	}
	whole := data[:bytes.LastIndexByte(data, '\n')+1]
	r.read += int64(len(whole))
	for line := range bytes.Lines(whole) {
		var told report
		if err := json.Unmarshal(line, &told); err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		if s := r.stages[told.Case]; s != nil {
			s.note(told)
		}
	}
	return nil
}

// ServeHTTP holds whoever asks for a latch until it is released.
func (r *reports) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	var told report
	err := json.NewDecoder(req.Body).Decode(&told)
	s := r.stages[told.Case]
	if err != nil || s == nil {
		http.Error(w, fmt.Sprintf("no latch: %v", err), http.StatusBadRequest)
		return
	}
	select {
	case <-s.latch(told.Name):
	case <-req.Context().Done():
	}
}

func (s *stage) note(told report) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch told.What {
	case "seen":
		s.seen[told.Key] = append(s.seen[told.Key], told.Attempt)
	case "ended":
		s.ended[told.Key] = true
	case "count":
		s.counts[told.Label]++
	case "came":
		if was, ok := s.came[told.Key]; ok && was != told.To {
			s.faults = append(s.faults, fmt.Sprintf("%s came to %s, then to %s", told.Key, was, told.To))
		}
		s.came[told.Key] = told.To
	}
}

func (s *stage) latch(name string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.latches[name] == nil {
		s.latches[name] = make(chan struct{})
	}
	return s.latches[name]
}

// attempts are the calls of each step's function so far, by number.
func (s *stage) attempts() map[string][]int {
	s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	saw := maps.Clone(s.seen)
	for key := range saw {
		saw[key] = slices.Clone(saw[key])
	}
	return saw
}

func (s *stage) hasEnded(key string) bool {
	s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ended[key]
}

// refresh panics on a file that no process has written.
func (s *stage) refresh() {
	if err := s.reports.refresh(); err != nil {
		panic(err)
	}
}

// saw is what the functions noted.
func (s *stage) saw() durable.Seen {
	attempts := s.attempts()
	s.mu.Lock()
	defer s.mu.Unlock()
	return durable.Seen{Binding: s.binding, Attempts: attempts, Counts: maps.Clone(s.counts), Faults: slices.Clone(s.faults)}
}
