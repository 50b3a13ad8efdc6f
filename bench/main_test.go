package bench_test

import (
	"context"
	"os"
	"os/exec"
	"testing"

	"sp00ky.cloud/spky/bench"
	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

// asNode makes this binary the process of a node.
const asNode = "SPKY_BENCH_NODE"

func TestMain(m *testing.M) {
	if os.Getenv(asNode) != "" {
		if err := bench.RunNode(context.Background(), os.Stdin, os.Stdout); err != nil {
			_, _ = os.Stderr.WriteString(err.Error() + "\n")
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func nodeCommand() *exec.Cmd {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asNode+"=1")
	return cmd
}

// processes is a database of the test's own and how to start a node.
func processes(tb testing.TB) bench.ProcessOptions {
	tb.Helper()
	db := devdbtest.Fresh(tb)
	return bench.ProcessOptions{
		DB:   surreal.Config{Endpoint: db.Endpoint, Namespace: db.Namespace, Database: db.Database, Username: db.User, Password: db.Password},
		Node: nodeCommand, DatabasePID: devdbtest.Server(tb).PID(),
	}
}
