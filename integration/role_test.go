package integration_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"syscall"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp"
	"sp00ky.cloud/spky/surreal"
)

// What a child process is, and its settings as JSON.
const (
	roleVariable     = "SPKY_INTEGRATION_ROLE"
	settingsVariable = "SPKY_INTEGRATION_SETTINGS"
	roleNode         = "node"
	roleBackend      = "backend"
)

// play is the main function of a child process; it answers with its exit code. A child ends with its
// parent: its standard input does.
func play(role string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	var err error
	switch role {
	case roleNode:
		err = playNode(ctx)
	case roleBackend:
		err = playBackend(ctx)
	default:
		err = fmt.Errorf("no such role: %s", role)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func settings(into any) error { return json.Unmarshal([]byte(os.Getenv(settingsVariable)), into) }

// nodeSettings describe a node in a process of its own, working on the table job.
type nodeSettings struct {
	Endpoint, Namespace, Database, Username, Password string

	Name, BaseURL  string
	Concurrency    int
	Timeout, Grace time.Duration

	PartitionBy string
}

// playNode says its address, then "ready" once the node works.
func playNode(ctx context.Context) error {
	var s nodeSettings
	if err := settings(&s); err != nil {
		return err
	}
	base, err := url.Parse(s.BaseURL)
	if err != nil {
		return err
	}
	node, err := ssp.New(ssp.Config{
		DB: surreal.Config{Endpoint: s.Endpoint, Namespace: s.Namespace, Database: s.Database, Username: s.Username, Password: s.Password},
		Backends: []config.Backend{{
			Name: "api", BaseURL: base, Table: "job", Concurrency: s.Concurrency, RetryOn: config.RetryAll, Timeout: s.Timeout, PartitionBy: s.PartitionBy,
		}},
		ID: s.Name, Version: s.Name, Jitter: -1, ShutdownGrace: s.Grace,
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return err
	}
	address, err := serve(node.Handler())
	if err != nil {
		return err
	}
	fmt.Println(address)
	go func() {
		<-node.Ready()
		fmt.Println("ready")
	}()
	return node.Run(ctx)
}

// backendSettings describe a backend in a process of its own.
type backendSettings struct {
	Address string
	Work    time.Duration // that each call takes
}

// playBackend says its address and answers each call with its process id.
func playBackend(ctx context.Context) error {
	var s backendSettings
	if err := settings(&s); err != nil {
		return err
	}
	listener, err := net.Listen("tcp", s.Address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		work := time.NewTimer(s.Work)
		defer work.Stop()
		select {
		case <-work.C:
		case <-r.Context().Done():
		}
		_, _ = fmt.Fprintf(w, `{"pid": %d}`, os.Getpid()) // the node may be gone
	})}
	go func() {
		<-ctx.Done()
		_ = server.Close()
	}()
	return server.Serve(listener)
}

// serve serves a handler on a free port as long as the process lives.
func serve(handler http.Handler) (string, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	go func() { _ = http.Serve(listener, handler) }()
	return listener.Addr().String(), nil
}
