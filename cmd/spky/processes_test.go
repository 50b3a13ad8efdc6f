package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
	"testing"
)

// backendRole makes the test binary play a backend: "good" ends when asked to,
// "stubborn" does not.
const backendRole = "SPKY_TEST_BACKEND"

// playBackend is the whole life of a backend.
func playBackend() int {
	if os.Getenv(backendRole) == "stubborn" {
		signal.Ignore(syscall.SIGTERM)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/", serveTest)
	mux.HandleFunc("/crash", func(w http.ResponseWriter, _ *http.Request) {
		// Once: the file says that it crashed before.
		if err := os.Mkdir(os.Getenv("CRASH_MARK"), 0o755); err == nil {
			os.Exit(3)
		}
		fmt.Fprint(w, `"survived"`)
	})
	fmt.Printf("backend %d port %s db %s table %s own %s\n", os.Getpid(), os.Getenv("PORT"), os.Getenv("SPKY_DB_WS"), os.Getenv("SPKY_OUTBOX_TABLE"), os.Getenv("OWN"))
	fmt.Println(http.ListenAndServe("127.0.0.1:"+os.Getenv("PORT"), mux))
	return 1
}

var built struct {
	once sync.Once
	dir  string
	err  error
}

func builtDir() string { return built.dir }

// binary builds the program once.
func binary(t *testing.T) string {
	t.Helper()
	built.once.Do(func() {
		if built.dir, built.err = os.MkdirTemp("", "spky-test-"); built.err != nil {
			return
		}
		out, err := exec.Command("go", "build", "-o", built.dir, ".").CombinedOutput()
		if err != nil {
			built.err = fmt.Errorf("%w: %s", err, out)
		}
	})
	if built.err != nil {
		t.Fatalf("build spky: %v", built.err)
	}
	name := "spky"
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	return filepath.Join(built.dir, name)
}
