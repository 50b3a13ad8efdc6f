package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"net/url"
	"runtime"
	"runtime/debug"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
)

// A nodeSpec is what a node's process is told, as one line of JSON on its standard input.
type nodeSpec struct {
	Endpoint, Namespace, Database, Username, Password string

	Table, Backend string
	Concurrency    int
	Pprof          string
}

// A nodeAddress is what it answers with once the node is ready: where it tells of itself.
type nodeAddress struct{ Status string }

// A nodeStatus is what it tells.
type nodeStatus struct {
	Goroutines int
	Heap       int64 // bytes in use
	Statements uint64
}

// RunNode is a process that is nothing but a node, for benches that watch one from outside. It is told what
// to do on in, and ends with it. It answers with an error where the node could not work.
func RunNode(ctx context.Context, in io.Reader, out io.Writer) error {
	words := json.NewDecoder(in)
	var spec nodeSpec
	if err := words.Decode(&spec); err != nil {
		return fmt.Errorf("read what to run: %w; this command is for benches, which start it themselves", err)
	}
	node, err := spec.node()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() { // ends with its owner, this process
		_, _ = io.Copy(io.Discard, io.MultiReader(words.Buffered(), in)) // its end is the sign
		stop()
	}()
	status, closeStatus, err := serveStatus("127.0.0.1:0", statusHandler(node))
	if err != nil {
		return err
	}
	defer closeStatus()
	if spec.Pprof != "" {
		_, closePprof, err := serveStatus(spec.Pprof, profiles())
		if err != nil {
			return fmt.Errorf("serve profiles: %w", err)
		}
		defer closePprof()
	}
	return whileRunning(ctx, node, func(ctx context.Context) error {
		if err := json.NewEncoder(out).Encode(nodeAddress{Status: "http://" + status + "/"}); err != nil {
			return err
		}
		<-ctx.Done()
		return nil
	})
}

func (s nodeSpec) node() (*ssp.Node, error) {
	base, err := url.Parse(s.Backend)
	if err != nil {
		return nil, err
	}
	return ssp.New(ssp.Config{
		DB:      surreal.Config{Endpoint: s.Endpoint, Namespace: s.Namespace, Database: s.Database, Username: s.Username, Password: s.Password},
		Version: "bench", ShutdownGrace: time.Second,
		Backends: []config.Backend{{Name: "bench", BaseURL: base, Table: s.Table, Concurrency: s.Concurrency, Timeout: 10 * time.Minute}},
	})
}

func statusHandler(node *ssp.Node) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("tidy") {
			debug.FreeOSMemory()
		}
		var mem runtime.MemStats
		runtime.ReadMemStats(&mem)
		status := nodeStatus{Goroutines: runtime.NumGoroutine(), Heap: int64(mem.HeapAlloc), Statements: node.Statements()} //nolint:gosec // far below the limit
		_ = json.NewEncoder(w).Encode(status)                                                                               // whoever asked has gone
	})
}

func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serveStatus serves until the function that it answers with is called.
func serveStatus(address string, handler http.Handler) (string, func(), error) {
	listener, err := net.Listen("tcp", address) //nolint:noctx // returns at once
	if err != nil {
		return "", nil, err
	}
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			panic(err) // a bench that can't look has nothing to say
		}
	}()
	return listener.Addr().String(), func() { _ = server.Close(); <-done }, nil
}
