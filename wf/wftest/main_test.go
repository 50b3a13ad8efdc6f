package wftest_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A fake is a test that a run may fail.
type fake struct {
	ctx context.Context //nolint:containedctx // as testing.T has

	mu       sync.Mutex
	messages []string
	failed   bool
}

func (f *fake) Helper()             {}
func (f *fake) Logf(string, ...any) {}
func (f *fake) Context() context.Context {
	if f.ctx == nil {
		return context.Background()
	}
	return f.ctx
}

func (f *fake) Failed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.failed
}

func (f *fake) Errorf(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failed = true
	f.messages = append(f.messages, fmt.Sprintf(format, args...))
}

func (f *fake) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	runtime.Goexit()
}

// fails runs body with a fake test and returns what it failed with.
func fails(t *testing.T, body func(*fake)) string {
	t.Helper()
	f := &fake{ctx: t.Context()}
	done := make(chan struct{})
	go func() { defer close(done); body(f) }()
	<-done
	if !f.Failed() {
		t.Fatal("the test did not fail")
	}
	return strings.Join(f.messages, "\n")
}

func mustContain(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in:\n%s", part, text)
		}
	}
}
