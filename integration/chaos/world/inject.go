package world

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"syscall"
	"time"

	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/integration/chaos/backend"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// Inject makes a fault happen and mends it once its time is over, or ctx is. What can't be mended is an error. A target
// whose last fault took longer than planned, for its end or its start did, gets the next one then.
func (w *World) Inject(ctx context.Context, f plan.Fault) error {
	turn := w.turns[f.Target]
	turn.Lock()
	defer turn.Unlock()
	switch {
	case f.Target == plan.Database:
		return w.injectDatabase(ctx, f)
	case strings.Contains(f.Target, ">"):
		injectLink(ctx, w.links[f.Target], f)
		return nil
	}
	return w.injectProcess(ctx, f)
}

// rest waits for d, or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func (w *World) injectDatabase(ctx context.Context, f plan.Fault) error {
	if f.Kind == plan.Freeze {
		process, err := os.FindProcess(w.database.PID())
		if err != nil {
			return err
		}
		if err := process.Signal(syscall.SIGSTOP); err != nil {
			return fmt.Errorf("freeze the database: %w", err)
		}
		rest(ctx, f.For)
		return process.Signal(syscall.SIGCONT)
	}
	if err := w.database.Kill(); err != nil {
		return err
	}
	rest(ctx, f.For)
	starting, cancel := context.WithTimeout(context.WithoutCancel(ctx), worksPatience)
	defer cancel()
	again, err := devdb.Start(starting, w.data)
	if err != nil {
		return fmt.Errorf("start the database again: %w", err)
	}
	w.database = again
	return nil
}

func injectLink(ctx context.Context, link *faultproxy.Proxy, f plan.Fault) {
	switch f.Kind {
	case plan.Reset:
		link.Reset()
		return
	case plan.Fin:
		link.Fin()
		return
	case plan.HalfClose:
		link.HalfClose()
		return
	case plan.Blackhole:
		link.Blackhole(true)
	case plan.Cut:
		link.Cut()
	case plan.Delay:
		link.Delay(time.Duration(f.Amount) * time.Millisecond)
	case plan.Dribble:
		link.Dribble(f.Amount)
	}
	rest(ctx, f.For)
	link.Restore()
}

func (w *World) injectProcess(ctx context.Context, f plan.Fault) error {
	p := w.processes[f.Target]
	switch f.Kind {
	case plan.Freeze:
		if err := p.Freeze(); err != nil {
			return err
		}
		rest(ctx, f.For)
		return p.Thaw()
	case plan.Kill:
		return p.again(ctx, p.Kill, f.For)
	case plan.Terminate:
		return p.again(ctx, p.Terminate, f.For)
	case plan.Shift:
		return p.again(ctx, p.Kill, f.For, fmt.Sprintf("CHAOS_CLOCK=%d,%d,2", f.Shift, f.Step))
	}
	w.trouble(ctx, f)
	return nil
}

// again ends a process and starts it once the pause is over.
func (p *Process) again(ctx context.Context, end func() error, pause time.Duration, extra ...string) error {
	if err := end(); err != nil {
		return err
	}
	rest(ctx, pause)
	return p.Start(extra...)
}

// trouble tells a backend what to do to its answers. One that can't be told has other troubles.
func (w *World) trouble(ctx context.Context, f plan.Fault) {
	text, err := json.Marshal(backend.Trouble{Kind: f.Kind, Amount: f.Amount, ForMS: f.For.Milliseconds()})
	if err != nil {
		panic(err) // numbers and a text
	}
	telling, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(telling, http.MethodPost, w.Control(f.Target)+"/__chaos/trouble", bytes.NewReader(text))
	if err != nil {
		panic(err) // the address is ours
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Log.Warn("not told", "fault", f.String(), "error", err)
		return
	}
	_ = resp.Body.Close() // nothing is read of it
	rest(ctx, f.For)
}
