package bench

import (
	"errors"
	"os"
	"time"
)

// A Usage is what a process has used so far and holds now.
type Usage struct {
	// CPU is user and system time together.
	CPU time.Duration
	// RSS is the memory that it has in RAM, in bytes.
	RSS int64
	// Files and Sockets are open; Files has the sockets too.
	Files, Sockets int
}

// A clocked is what three processes spend on the same work: the node, the database, and this one, which
// makes the work and is the backend.
type clocked struct {
	node, database, bench time.Duration
	at                    time.Time
}

// clock reads the CPU times. What can't be known is 0: another system than Linux, or a database elsewhere.
func (n *childNode) clock() (clocked, error) {
	c := clocked{at: time.Now()}
	for pid, into := range map[int]*time.Duration{n.cmd.Process.Pid: &c.node, n.o.DatabasePID: &c.database, os.Getpid(): &c.bench} {
		if pid == 0 {
			continue
		}
		u, err := measureProcess(pid)
		if err != nil && !errors.Is(err, errors.ErrUnsupported) {
			return c, err
		}
		*into = u.CPU
	}
	return c, nil
}

// since is what has been spent from an earlier reading on.
func (c clocked) since(from clocked) clocked {
	return clocked{node: c.node - from.node, database: c.database - from.database, bench: c.bench - from.bench, at: c.at}
}
