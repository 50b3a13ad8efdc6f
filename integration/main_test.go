package integration_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// together is how many tests run at once. They mostly wait: for leases to end, for nodes to be taken
// for dead, for connections to be given up.
const together = "8"

// TestMain makes this binary a child process of a test where its environment says so.
func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		os.Exit(play(role))
	}
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", together); err != nil {
			panic(err)
		}
	}
	// The shared database's process outlives the tests on purpose, and the SDK's own transport leaks a
	// goroutine for an event that nobody reads any more.
	goleak.VerifyTestMain(m, append(devdbtest.Leftovers(),
		goleak.IgnoreAnyFunction("github.com/surrealdb/surrealdb.go/pkg/connection/gorillaws.(*Connection).handleResponse"))...)
}
