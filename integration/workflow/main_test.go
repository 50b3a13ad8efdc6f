//go:build unix

// Package workflow_test holds durable workflows in Go against a real database and real nodes of the sync processor: the
// conformance table of both SDKs, and what happens when whatever takes part in a run is killed, frozen or late.
package workflow_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// together is how many tests run at once. They mostly wait.
const together = "8"

// checks is how often a property is checked; -rapid.checks says otherwise. Failures depend on timing
// too, so no file is kept that would repeat their draws.
const checks = "8"

// TestMain makes this binary a child process of a test where its environment says so.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	flag.Parse()
	asked := map[string]bool{}
	flag.Visit(func(f *flag.Flag) { asked[f.Name] = true })
	for name, value := range map[string]string{"test.parallel": together, "rapid.checks": checks, "rapid.nofailfile": "true"} {
		if asked[name] {
			continue
		}
		if err := flag.Set(name, value); err != nil {
			panic(err)
		}
	}
	// The shared database's process outlives the tests on purpose.
	goleak.VerifyTestMain(m, append(devdbtest.Leftovers(),
		goleak.IgnoreAnyFunction("github.com/surrealdb/surrealdb.go/pkg/connection/gorillaws.(*Connection).handleResponse"))...)
}
