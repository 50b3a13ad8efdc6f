package wftest

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/wf/internal/protocol"
)

// String is a log of what happened, one line each, with times counted from the start: for golden
// comparisons. The same workflow under the same options gives the same text, whichever day it is.
func (r *Result) String() string { return strings.Join(r.lines(), "\n") + "\n" }

// tail is the end of the log.
func (r *Result) tail(n int) string {
	lines := r.lines()
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

func (r *Result) lines() []string {
	var all []note
	for _, s := range r.steps {
		all = append(all, note{at: s.Started, run: s.run, text: s.String()})
	}
	all = append(all, r.notes...)
	slices.SortStableFunc(all, byTime)
	end := string(r.Status())
	switch {
	case r.instance.Error != nil:
		end += fmt.Sprintf(": %s: %s", r.instance.Error.Name, r.instance.Error.Message)
	case r.instance.FinishedAt != nil && len(r.instance.Output) > 0:
		end += " = " + short(r.instance.Output)
	}
	all = append(all, note{at: r.end, text: end})
	lines := make([]string, len(all))
	for i, n := range all {
		lines[i] = fmt.Sprintf("%-16s %s", "+"+span(n.at.Sub(r.start)), n.text)
	}
	return lines
}

// String is the step's line in the log, without its time.
func (s Step) String() string {
	text := label(s.Kind, s.Name, s.Occurrence)
	for _, failed := range s.Failed {
		if s.Err == nil || failed.Message != s.Err.Message {
			text += fmt.Sprintf(", %s: %s", failed.Name, failed.Message)
		}
	}
	if s.Attempts > 1 {
		text += fmt.Sprintf(", %d attempts", s.Attempts)
	}
	switch {
	case s.Err != nil:
		return text + fmt.Sprintf(", errored: %s: %s", s.Err.Name, s.Err.Message)
	case s.Status != protocol.StepComplete:
		return text + ", " + s.Status
	case s.Kind == protocol.KindSleep:
		return text + ", slept " + span(s.Finished.Sub(s.Started))
	case s.Kind == protocol.KindEvent:
		return text + ", waited " + span(s.Finished.Sub(s.Started)) + " = " + short(s.payload())
	}
	return text + " = " + short(s.output)
}

// payload is the payload of the event that the step got.
func (s Step) payload() []byte {
	var out struct{ Payload json.RawMessage }
	if json.Unmarshal(s.output, &out) != nil {
		return s.output
	}
	return out.Payload
}

// short is a JSON value, cut where it is long.
func short(data []byte) string {
	const most = 200
	if len(data) <= most {
		return string(data)
	}
	return strings.ToValidUTF8(string(data[:most]), "") + fmt.Sprintf("… (%d bytes)", len(data))
}

// span writes a duration with its days.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	text := ""
	if d >= day {
		text, d = fmt.Sprintf("%dd", d/day), d%day
	}
	for _, unit := range []struct {
		size time.Duration
		name string
	}{{time.Hour, "h"}, {time.Minute, "m"}} {
		if d >= unit.size {
			text += fmt.Sprintf("%d%s", d/unit.size, unit.name)
			d %= unit.size
		}
	}
	if d > 0 || text == "" {
		text += d.String()
	}
	return text
}

// handler is where log lines of engine and workflow go: to the test's log.
func (d *driver) handler() slog.Handler {
	return slog.NewTextHandler(logWriter{d}, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
		if len(groups) == 0 && a.Key == slog.TimeKey {
			return slog.String("at", "+"+span(d.store.Now().Sub(d.plan.start)))
		}
		return a
	}})
}

// A logWriter writes to a test's log until the driver gives up: what is left running then must not.
type logWriter struct{ d *driver }

func (w logWriter) Write(p []byte) (int, error) {
	w.d.log("%s", strings.TrimSuffix(string(p), "\n"))
	return len(p), nil
}

func (d *driver) log(format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.silent {
		d.t.Logf(format, args...)
	}
}
