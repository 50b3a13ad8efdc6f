package devdb

import (
	"io"
	"os"
	"time"
)

// Config says how to start a database. The zero value starts one on 127.0.0.1:8666 whose data is gone when it closes.
type Config struct {
	// Listen is the address to listen on; only loopback is accepted, and port 0 picks a free one. Defaults to
	// "127.0.0.1:8666".
	Listen string
	// Data is the directory of the database's files, made when it does not exist. Defaults to a temporary directory that
	// is removed at the end, whether the end is Close or the death of this process.
	Data string
	// Sync makes every commit wait for the disk, as a production server's does, at about half the throughput. Without it
	// a commit is with the operating system when it is acknowledged: it outlives a kill -9 of the database, but the last
	// ones may not outlive the machine's loss of power.
	Sync bool
	// User and Password are the root user's. Each defaults to "root". The user is created when the data has none of that
	// name; when it has one with another password, Start fails with [ReasonCredentials].
	User, Password string
	// Progress gets what a person should see of an installation. Defaults to io.Discard.
	Progress io.Writer
	// Log gets the host's standard error. Defaults to os.Stderr.
	Log io.Writer
	// StopTimeout is how long Close waits for a clean end before it kills. Defaults to 10 seconds.
	StopTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.Listen == "" {
		c.Listen = "127.0.0.1:8666"
	}
	if c.User == "" {
		c.User = "root"
	}
	if c.Password == "" {
		c.Password = "root"
	}
	if c.Progress == nil {
		c.Progress = io.Discard
	}
	if c.Log == nil {
		c.Log = os.Stderr
	}
	if c.StopTimeout <= 0 {
		c.StopTimeout = 10 * time.Second
	}
	return c
}
