//go:build unix

// Package typescript_test holds the TypeScript SDK against a real database and a real node of the sync processor: the
// conformance table that the Go SDK runs as well, what both SDKs do to each other's instances, and the code of
// Cloudflare's that has to run unchanged.
package typescript_test

import (
	"flag"
	"os"
	"testing"
)

// together is how many tests run at once. They mostly wait.
const together = "6"

func TestMain(m *testing.M) {
	flag.Parse()
	asked := false
	flag.Visit(func(f *flag.Flag) { asked = asked || f.Name == "test.parallel" })
	if !asked {
		if err := flag.Set("test.parallel", together); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
