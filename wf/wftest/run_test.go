package wftest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

type order struct{ Items []string }

type review struct{ OK bool }

// process is a workflow with one of everything.
func process(ctx context.Context, ev wf.Event[order], s *wf.Step) (map[string]int, error) {
	n, err := wf.Do(ctx, s, "count", func(context.Context) (int, error) { return len(ev.Payload.Items), nil })
	if err != nil {
		return nil, err
	}
	var packs []*wf.Future[string]
	for _, item := range ev.Payload.Items {
		packs = append(packs, wf.Go(ctx, s, "pack", func(context.Context) (string, error) { return "packed " + item, nil }))
	}
	for _, pack := range packs {
		if _, err := pack.Wait(); err != nil {
			return nil, err
		}
	}
	if err := s.Sleep(ctx, "rest", 40*24*time.Hour); err != nil {
		return nil, err
	}
	got, err := wf.WaitForEvent[review](ctx, s, "review", "reviewed")
	if err != nil {
		return nil, err
	}
	if !got.Payload.OK {
		return nil, errors.New("rejected")
	}
	return map[string]int{"n": n}, nil
}

func TestEverythingAtOnce(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, process, order{[]string{"a", "b"}}, wftest.Event("reviewed", review{OK: true}, wftest.OnWait(90*time.Minute)),
		wftest.Fail("count", 1, errors.New("no")), wftest.TimeOut("count", 2))
	var out map[string]int
	run.Output(&out)
	if out["n"] != 2 || run.Attempts("count") != 3 || run.Attempts("pack") != 2 || run.Slept() != 40*24*time.Hour || run.Err() != nil {
		t.Errorf("%v %s", out, run)
	}
	want := `+0s              do "count", Error: no, WorkflowTimeoutError: wf: timed out: execution timed out after 600000ms, 3 attempts = 2
+30s             do "pack" = "packed a"
+30s             do "pack" #2 = "packed b"
+30s             sleep "rest", slept 40d
+40d30s          waitForEvent "review", waited 1h30m = {"OK":true}
+40d1h30m30s     event "reviewed" is sent
+40d1h30m30s     complete = {"n":2}
`
	if got := run.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
