//go:build unix

package devdb

import (
	"os"

	"golang.org/x/sys/unix"
)

// tryLock takes the exclusive lock of an open file and reports whether it did. The lock ends with the file's closing,
// or with the process.
func tryLock(f *os.File) (bool, error) {
	for {
		switch err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err {
		case nil:
			return true, nil
		case unix.EWOULDBLOCK:
			return false, nil
		case unix.EINTR:
			continue
		default:
			return false, err
		}
	}
}
