package wf

import "runtime/debug"

// capture calls fn and makes a panic an error.
func capture[T any](fn func() (T, error)) (value T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = &panicError{value: p, stack: string(debug.Stack())}
		}
	}()
	return fn()
}
