package wf

import (
	"context"
	"errors"
	"runtime"
	"testing"
)

func TestCodeThatEndsItsGoroutineIsAnError(t *testing.T) {
	t.Parallel()
	if _, err := capture(func() (int, error) { runtime.Goexit(); return 1, nil }); !errors.Is(err, errGone) {
		t.Errorf("the workflow's code: %v", err)
	}
	_, err := guard(t.Context(), ErrTimeout, func(context.Context) (any, error) { runtime.Goexit(); return 1, nil })
	if !errors.Is(err, errGone) {
		t.Errorf("a step's function: %v", err)
	}
}
