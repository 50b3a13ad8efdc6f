package logs

import (
	"log/slog"
	"runtime"
	"strings"
	"time"
)

// A Line is one line of the log.
type Line struct {
	// Seq numbers the lines of this process, from 1.
	Seq uint64    `json:"seq"`
	At  time.Time `json:"at"`
	// Level is trace, debug, info, warn or error.
	Level string `json:"level"`
	// Source is the package that it comes from.
	Source  string `json:"source,omitempty"`
	Message string `json:"message"`
	// Attributes are what the line says beside, as text; groups are joined with dots.
	Attributes map[string]string `json:"attributes,omitempty"`
}

// Levels are the levels, the lowest first.
func Levels() []string { return []string{"trace", "debug", "info", "warn", "error"} }

func word(l slog.Level) string {
	switch {
	case l >= slog.LevelError:
		return "error"
	case l >= slog.LevelWarn:
		return "warn"
	case l >= slog.LevelInfo:
		return "info"
	case l >= slog.LevelDebug:
		return "debug"
	}
	return "trace"
}

// rank orders the levels; a text that is none is below all.
func rank(level string) int {
	for i, l := range Levels() {
		if l == level {
			return i
		}
	}
	return -1
}

// Source is the name of the package whose code a program counter is in: ssp for
// sp00ky.cloud/spky/ssp.(*Node).Run.
func Source(pc uintptr) string {
	frame, _ := runtime.CallersFrames([]uintptr{pc}).Next()
	name := frame.Function[strings.LastIndexByte(frame.Function, '/')+1:]
	name, _, _ = strings.Cut(name, ".")
	return name
}

// A Filter chooses lines. Its zero value is all of them.
type Filter struct {
	// Level is the lowest that is wanted. Defaults to all.
	Level string
	// Source is the package; Query a part of the message, whatever its case.
	Source, Query string
	// After is the number of the last line that is known already.
	After uint64
	// Limit is how many lines at most, the newest. Defaults to all that are kept.
	Limit int
}

func (f Filter) wants(l Line) bool {
	return l.Seq > f.After && rank(l.Level) >= rank(f.Level) && (f.Source == "" || f.Source == l.Source) &&
		(f.Query == "" || strings.Contains(strings.ToLower(l.Message), strings.ToLower(f.Query)))
}
