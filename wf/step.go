package wf

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// A Step is a run's handle, given to the workflow: steps are made with it. A step is identified by
// its kind, its name and its occurrence, which counts calls of the same kind and name from 1 in call
// order. It may be used from several goroutines; start those with [Go].
type Step struct{ run *run }

// maxName bounds a step's name in UTF-16 units.
const maxName = 256

func checkName(name string) error {
	switch {
	case !utf8.ValidString(name):
		return fmt.Errorf("%w: step name %q is not UTF-8", ErrName, name)
	case len(utf16.Encode([]rune(name))) > maxName:
		return fmt.Errorf("%w: step name %.40q… is longer than %d characters", ErrName, name, maxName)
	case strings.IndexFunc(name, unicode.IsControl) >= 0:
		return fmt.Errorf("%w: step name %q has control characters", ErrName, name)
	}
	return nil
}

// InstanceID is the id of the instance that runs.
func (s *Step) InstanceID() string { return s.run.instance.ID }

// Logger writes log lines with the instance's id, and none while the run only replays what an
// earlier one did, so that each line appears once.
func (s *Step) Logger() *slog.Logger { return slog.New(quietHandler{s.run.log.Handler(), s.run}) }

type stepContext struct{}

type stepInfo struct {
	log     *slog.Logger
	name    string
	attempt int
}

// Logger is the logger of the step whose function got ctx: its lines carry instance, step and
// attempt. Outside a step it is [slog.Default].
func Logger(ctx context.Context) *slog.Logger {
	info, ok := ctx.Value(stepContext{}).(stepInfo)
	if !ok {
		return slog.Default()
	}
	if info.name == "" {
		return info.log
	}
	return info.log.With("step", info.name, "attempt", info.attempt)
}

// Attempt numbers the attempt that ctx belongs to, from 1; 0 outside a step.
func Attempt(ctx context.Context) int {
	info, _ := ctx.Value(stepContext{}).(stepInfo)
	return info.attempt
}

// outside refuses a step within the function of another: the outer one would wait for a run that can't
// end before it, and when it is replayed the inner one would be missed.
func outside(ctx context.Context, name string) error {
	if info, ok := ctx.Value(stepContext{}).(stepInfo); ok && info.attempt > 0 {
		return fmt.Errorf("%w: step %q is called in the function of step %q; call it after that, with what that returned", ErrConfig, name, info.name)
	}
	return nil
}

// quietHandler drops records while a run replays.
type quietHandler struct {
	slog.Handler
	run *run
}

func (h quietHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return !h.run.replaying() && h.Handler.Enabled(ctx, level)
}

func (h quietHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return quietHandler{h.Handler.WithAttrs(attrs), h.run}
}

func (h quietHandler) WithGroup(name string) slog.Handler {
	return quietHandler{h.Handler.WithGroup(name), h.run}
}

// replaying says whether everything reached so far was stored by an earlier run, and more is.
func (r *run) replaying() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.live {
		return false
	}
	for _, s := range r.stored {
		if s.Done() && !s.reached {
			return true
		}
	}
	return false
}
