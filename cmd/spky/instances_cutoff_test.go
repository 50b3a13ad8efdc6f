package main

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

// TestStepsOfWhatWasTerminated describes and watches an instance that was terminated while a step waited: it waits no more.
func TestStepsOfWhatWasTerminated(t *testing.T) {
	t.Parallel()
	p, serve := withWorkflow(t)
	serve()
	p.runner()
	p.must("workflows", "trigger", "GREET", `{"name": "you", "wait": true}`, "--id", "g")
	seen := newWatched()
	ended := make(chan int, 1)
	go func() {
		ended <- p.start(t.Context(), strings.NewReader(""), seen, seen, "workflows", "instances", "watch", "GREET", "g")
	}()
	<-seen.saw("waiting  1 step done  event answered, until 20")
	if out := p.must("workflows", "instances", "describe", "GREET", "g"); !strings.Contains(out, "Ends at the latest") || strings.Contains(out, "cut off") {
		t.Errorf("while it waits:\n%s", out)
	}
	p.must("workflows", "instances", "terminate", "GREET", "g")
	<-ended
	out := p.must("workflows", "instances", "describe", "GREET", "g")
	_, step, _ := strings.Cut(out, "\nbe answered\n")
	if !strings.Contains(step, "cut off") || strings.Contains(step, "waiting") || strings.Contains(step, "Ends at the latest") {
		t.Errorf("of the step it says\n%s", out)
	}
	if code, out, stderr := p.run("workflows", "instances", "watch", "GREET", "g"); !strings.Contains(out, "○ be answered cut off") || strings.Contains(out, "waiting") {
		t.Errorf("watching it again: %d\n%s%s", code, out, stderr)
	}
	got := decode[instanceJSON](p, "workflows", "instances", "describe", "GREET", "g")
	lasted := render.Span(got.FinishedAt.Sub(got.Steps[1].StartedAt))
	if out := p.must("workflows", "instances", "describe", "GREET", "g"); !strings.HasSuffix(strings.TrimSpace(out), lasted) {
		t.Errorf("the step lasted %s, and goes on:\n%s", lasted, out)
	}
}
