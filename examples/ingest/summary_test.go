package main

import (
	"fmt"
	"slices"
	"testing"
)

func TestSentences(t *testing.T) {
	t.Parallel()
	got := sentences("One is\nhere: is two? Three!\n\nAnd an end without")
	if want := []string{"One is here:", "is two?", "Three!", "And an end without"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestExtract(t *testing.T) {
	t.Parallel()
	const content = "Bees make honey. It rains. Honey feeds bees. Nobody came."
	if got, want := extract(content, 2), []string{"Bees make honey.", "Honey feeds bees."}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := extract(content, 20); len(got) != 4 || got[1] != "It rains." {
		t.Errorf("all sentences in order: got %q", got)
	}
}

// TestFailures shows that failing on purpose depends on nothing but the request and the job's id.
func TestFailures(t *testing.T) {
	t.Parallel()
	two := 2
	if got := (summaryRequest{Failures: &two}).failures("job:x"); got != 2 {
		t.Errorf("failures: 2 gives %d", got)
	}
	if got := (summaryRequest{}).failures(""); got != 0 {
		t.Errorf("a request without a job fails %d times", got)
	}
	failing := 0
	for i := range 300 {
		job := fmt.Sprintf("job:%d", i)
		n := summaryRequest{}.failures(job)
		if again := (summaryRequest{}).failures(job); again != n || n < 0 || n > 1 {
			t.Errorf("%s fails %d times, then %d", job, n, again)
		}
		failing += n
	}
	if failing < 60 || failing > 140 {
		t.Errorf("%d of 300 jobs fail at first, want about a third", failing)
	}
}
