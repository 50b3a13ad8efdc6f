package ssp

import (
	commandline "flag"
	"os"
	"testing"

	"go.uber.org/goleak"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

// TestMain lets more tests run at once than there are processors: nearly all of them wait. When all
// are done, nothing that a node started may be left.
func TestMain(m *testing.M) {
	commandline.Parse()
	if f := commandline.Lookup("test.parallel"); f.Value.String() == f.DefValue {
		if err := f.Value.Set("8"); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	if code == 0 {
		if err := goleak.Find(devdbtest.Leftovers()...); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			code = 1
		}
	}
	os.Exit(code)
}
