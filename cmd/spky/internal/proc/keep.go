package proc

import (
	"context"
	"time"
)

// The pause before a program that crashed is started again: it doubles from the
// first to the longest, and begins anew with a program that ran for a while.
const (
	firstPause  = 250 * time.Millisecond
	longestWait = 15 * time.Second
	ranWell     = 10 * time.Second
)

// Keep runs the program until ctx ends, again whenever it crashes, after a
// growing pause. A program that ended well is done, unless always says that it
// has to run. tell hears of every end and of the pause that follows; a pause of
// zero means that it is not started again.
func (c Child) Keep(ctx context.Context, always bool, tell func(err error, pause time.Duration)) {
	pause := firstPause
	for ctx.Err() == nil {
		began := time.Now()
		err := c.Run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil && !always {
			tell(nil, 0)
			return
		}
		if time.Since(began) > ranWell {
			pause = firstPause
		}
		tell(err, pause)
		wait := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			wait.Stop()
			return
		case <-wait.C:
		}
		pause = min(2*pause, longestWait)
	}
}
