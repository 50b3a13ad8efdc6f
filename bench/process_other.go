//go:build !linux

package bench

import "errors"

// measureProcess is known for Linux only.
func measureProcess(int) (Usage, error) {
	return Usage{}, errors.ErrUnsupported
}

// machineLoad is known for Linux only.
func machineLoad() float64 { return 0 }
