package wf

import (
	"errors"
	"runtime/debug"
)

// errGone is code that ended its goroutine instead of returning.
var errGone = errors.New("the code called runtime.Goexit")

// capture calls fn in a goroutine of its own and waits for it, so that neither a panic nor a Goexit
// of fn gets any further: either is an error.
func capture[T any](fn func() (T, error)) (value T, err error) {
	done := make(chan struct{})
	err = errGone
	go func() {
		defer close(done)
		defer func() {
			if p := recover(); p != nil {
				err = &panicError{value: p, stack: string(debug.Stack())}
			}
		}()
		value, err = fn()
	}()
	<-done
	return value, err
}
