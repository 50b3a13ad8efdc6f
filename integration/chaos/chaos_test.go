//go:build unix

package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/integration/chaos/backend"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// TestMain makes this binary a backend where a run starts it as one.
func TestMain(m *testing.M) {
	if os.Getenv(backend.Variable) != "" {
		os.Exit(backend.Main())
	}
	os.Exit(m.Run())
}

// perform runs a short plan and answers with what was printed.
func perform(t *testing.T, sabotage string, patience time.Duration, o plan.Options) (string, error) {
	t.Helper()
	p, err := plan.New(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 8*time.Minute)
	defer cancel()
	var out strings.Builder
	r := &run{
		options: o, plan: p, sabotage: sabotage, patience: patience, dir: t.TempDir(), out: &out,
		log: slog.New(slog.NewTextHandler(os.Stderr, nil)),
	}
	err = r.do(ctx)
	t.Log(out.String())
	return out.String(), err
}

// TestShort: a short run of everything finds nothing.
func TestShort(t *testing.T) {
	if _, err := perform(t, "", settlePatience, plan.Options{Seed: 7, Length: 12 * time.Second, Jobs: 400, Workflows: 30, Gap: 900 * time.Millisecond}); err != nil {
		t.Error(err)
	}
}

// TestBrokenBuildIsFound: a program that does not look at leases is found out.
func TestBrokenBuildIsFound(t *testing.T) {
	out, err := perform(t, "lease", 20*time.Second, plan.Options{Seed: 7, Length: 10 * time.Second, Jobs: 300, Workflows: 20, Gap: 5 * time.Second})
	if !errors.Is(err, errFindings) {
		t.Fatalf("the run ended with %v, not with findings", err)
	}
	if !strings.Contains(out, "FINDING lease ") {
		t.Error("nothing of it is about leases")
	}
}

// TestCommandLine: what makes no sense is refused before anything is started, and a plan can be looked at.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--minutes", "0.01"}, {"--jobs", "0"}, {"--gap", "-1s"}, {"now"}, {"--seed", "x"}} {
		if err := command(t.Context(), args, io.Discard, io.Discard); err == nil {
			t.Errorf("%v is accepted", args)
		}
	}
	var one, two strings.Builder
	for _, out := range []*strings.Builder{&one, &two} {
		if err := command(t.Context(), []string{"--plan", "--seed", "9"}, out, io.Discard); err != nil {
			t.Fatal(err)
		}
	}
	if one.String() != two.String() || !strings.Contains(one.String(), "freeze") {
		t.Errorf("the plan of one seed is\n%s\nand then\n%s", one.String(), two.String())
	}
}
