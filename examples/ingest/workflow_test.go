package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/wf/wftest"
)

// aMaterial has 21 pages, and so three batches.
func aMaterial() material {
	return material{Name: "note", Title: "Note", Text: strings.Repeat("one two three four five six seven eight nine ten\n", 21), PageWords: 10, SettleSeconds: 3600}
}

// batches stubs the conversions, of which the database is the other half.
func batches() []wftest.Option {
	var all []wftest.Option
	for _, name := range []string{"convert pages 1 to 10", "convert pages 11 to 20", "convert pages 21 to 21"} {
		all = append(all, wftest.Stub(name, 10))
	}
	return all
}

// TestIngestWorkflow runs the workflow in memory, with a forced replay at every step.
func TestIngestWorkflow(t *testing.T) {
	t.Parallel()
	began := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	run := wftest.Run(t, (&store{}).ingest, aMaterial(), append(batches(),
		wftest.Start(began),
		wftest.Fail("convert pages 11 to 20", 1, errors.New("the disk is busy")),
		wftest.StubFunc("publish", func(c wftest.Call) (any, error) {
			content, _ := c.Vars["content"].(map[string]any)
			if content["pages"] != 21 || content["words"] != 210 || content["note"] != "fine" {
				t.Errorf("publish gets %v", content)
			}
			return 4, nil
		}),
		wftest.Event("reviewed", review{OK: true, Note: "fine"}))...)
	var got published
	run.Output(&got)
	if want := (published{Material: "note", Pages: 21, Words: 210, Edition: 4, Note: "fine"}); got != want {
		t.Errorf("it came to %+v, want %+v", got, want)
	}
	var total counted
	run.Step("count pages").Output(&total)
	if total.Steps != len(run.Steps()) {
		t.Errorf("the first step tells of %d steps:\n%s", total.Steps, run)
	}
	if run.Attempts("convert pages 11 to 20") != 2 || run.Attempts("convert pages 1 to 10") != 1 {
		t.Errorf("attempts:\n%s", run)
	}
}

// TestIngestEnds shows the ways in which it ends without publishing.
func TestIngestEnds(t *testing.T) {
	t.Parallel()
	for says, opts := range map[string][]wftest.Option{
		"rejected it: too long": append(batches(), wftest.Event("reviewed", review{Note: "too long"})),
		"timed out":             batches(),
		"the disk is full":      {wftest.Fail("convert pages 1 to 10", 0, errors.New("the disk is full"))},
	} {
		run := wftest.Run(t, (&store{}).ingest, aMaterial(), opts...)
		if err := run.Err(); err == nil || !strings.Contains(err.Error(), says) || run.Attempts("publish") > 0 {
			t.Errorf("it ended with %v, want %q:\n%s", err, says, run)
		}
	}
}

// TestStepsAreCounted holds the number that the first step tells against those that there are.
func TestStepsAreCounted(t *testing.T) {
	t.Parallel()
	for pages, steps := range map[int]int{1: 5, 9: 5, 10: 5, 11: 6, 20: 6, 21: 7} {
		m := material{Title: "x", SettleSeconds: 1, Text: strings.Repeat("one two three four five six seven eight nine ten\n", pages), PageWords: 10}.withDefaults()
		if got, err := m.count(); err != nil || got.Pages != pages || got.Steps != steps {
			t.Errorf("%d pages: %+v, want %d steps", pages, got, steps)
		}
		m.SettleSeconds = 0
		if got, err := m.count(); err != nil || got.Steps != steps-1 {
			t.Errorf("%d pages without a sleep: %+v, want %d steps", pages, got, steps-1)
		}
	}
}

func TestToHTML(t *testing.T) {
	t.Parallel()
	if got, want := toHTML("a < b\n& c"), "<p>a &lt; b<br>\n&amp; c</p>"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParamsOfOperators(t *testing.T) {
	t.Parallel()
	if m := (material{Title: "A Note"}).withDefaults(); m.Name != "a-note" || m.PageWords != defaultSheetWords {
		t.Errorf("defaults %+v", m)
	}
	for _, m := range []material{{}, {Title: "x"}, {Title: "x", Text: "--"}, {Title: "x", Text: "a", PageWords: -1}, {Title: "?", Text: "a"}} {
		run := wftest.Run(t, (&store{}).ingest, m)
		if err := run.Err(); err == nil || !strings.Contains(err.Error(), "needs a title") || run.Attempts("count pages") != 1 {
			t.Errorf("%+v: it ended with %v", m, err)
		}
	}
}

// TestReadmeShowsThisCode holds the README's excerpt against the workflow.
func TestReadmeShowsThisCode(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("workflow.go")
	if err != nil {
		t.Fatal(err)
	}
	_, excerpt, _ := strings.Cut(string(readme), "```go\ntotal")
	excerpt, _, found := strings.Cut("total"+excerpt, "```")
	if !found {
		t.Fatal("the README has no excerpt any more")
	}
	for line := range strings.Lines(excerpt) {
		if line = strings.TrimSpace(line); !strings.HasPrefix(line, "//") && !strings.Contains(string(code), "\t"+line+"\n") {
			t.Errorf("workflow.go has no line %q", line)
		}
	}
}
