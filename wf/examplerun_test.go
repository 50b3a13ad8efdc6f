package wf_test

import (
	"context"
	"errors"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf"
	"sp00ky.cloud/spky/wf/wftest"
)

func TestExamplesRun(t *testing.T) {
	t.Parallel()
	run := wftest.Run(t, Convert, Params{"broken.pdf"})
	if run.Err() != nil || run.Attempts("convert") != 1 {
		t.Error(run)
	}
	run = wftest.Run(t, Convert, Params{"a.pdf"}, wftest.TimeOut("convert", 1), wftest.Fail("convert", 2, errors.New("busy")))
	var images []string
	if run.Output(&images); !reflect.DeepEqual(images, []string{"a.pdf.png"}) || run.Elapsed() != 30*time.Second {
		t.Error(run)
	}
	run = wftest.Run(t, Pages, []string{"a", "bb"})
	var pages map[string]int
	if run.Output(&pages); !reflect.DeepEqual(pages, map[string]int{"a": 1, "bb": 2}) || run.Runs() != 2 {
		t.Error(run)
	}
	run = wftest.Run(t, Remind, Params{}, wftest.Event("answered", Review{OK: true}, wftest.At(30*time.Hour)))
	var ok bool
	if run.Output(&ok); !ok || run.Attempts("remind") != 2 || run.Elapsed() != 48*time.Hour {
		t.Error(run)
	}
	run = wftest.Run(t, Batches, make([]string, 25))
	var n int
	if run.Output(&n); n != 25 || run.Attempts("convert batch") != 3 {
		t.Error(run)
	}
	var looks int
	run = wftest.Run(t, poll, Params{}, wftest.StubFunc("look", func(wftest.Call) (any, error) { looks++; return looks == 4, nil }))
	if run.Err() != nil || run.Slept() != 30*time.Minute {
		t.Error(run)
	}
	run = wftest.Run(t, func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) { return publish(ctx, s, "a", 1) }, 0, wftest.Stub("publish", 5))
	if run.Output(&n); n != 5 {
		t.Error(run)
	}
}

func poll(ctx context.Context, ev wf.Event[Params], s *wf.Step) (any, error) {
	return nil, Poll(ctx, ev, s)
}

// TestGuide holds the code blocks of the guide against this package's examples, which are compiled:
// each block has to be there, line by line.
func TestGuide(t *testing.T) {
	t.Parallel()
	guide, err := os.ReadFile("../docs/workflows.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	source := trimmed(string(code))
	blocks := strings.Split(string(guide), "\n```go\n")[1:]
	if len(blocks) < 8 {
		t.Errorf("only %d blocks were found", len(blocks))
	}
	for _, block := range blocks {
		block, _, _ = strings.Cut(block, "\n```")
		if !strings.Contains(source, trimmed(block)) {
			t.Errorf("not in example_test.go:\n%s", block)
		}
	}
}

// trimmed is text without indentation.
func trimmed(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.TrimSpace(line)
	}
	return strings.Join(lines, "\n")
}
