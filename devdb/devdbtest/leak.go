package devdbtest

import "go.uber.org/goleak"

// Leftovers are the goroutines of the shared server, which outlives the tests of a binary on purpose:
// what a check for leaks has to pass over.
func Leftovers() []goleak.Option {
	var options []goleak.Option
	for _, function := range []string{
		"sp00ky.cloud/spky/devdb.(*Server).wait", "sp00ky.cloud/spky/devdb.(*Server).wait.func1",
		"sp00ky.cloud/spky/devdb.(*Server).await.func1", "os/exec.(*Cmd).Start.func2",
	} {
		options = append(options, goleak.IgnoreAnyFunction(function))
	}
	return options
}
