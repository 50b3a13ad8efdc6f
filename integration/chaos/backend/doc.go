// Package backend is a backend process of a chaos run: it does the jobs and runs the workflow that the plan
// describes, keeps a journal of what it was asked and what it answered, and makes trouble when it is told to.
//
// Nodes reach it below a prefix that is their name, as in POST /n1/task, so that the journal knows who asks. The
// driver reaches it without one:
//
//	GET  /healthz           it is there
//	POST /__chaos/trouble   what it does to its answers from now on
//	POST /__chaos/act       create an instance, or act on one, by way of the SDK
package backend

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/integration/chaos/journal"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// Variable is the environment variable that holds a process's [Settings] as JSON, and by which the driver's
// program knows that it is to be a backend.
const Variable = "CHAOS_BACKEND"

// Settings of a process.
type Settings struct {
	// Name of the process, unique to each of its lives.
	Name string `json:"name"`
	// Listen is its address.
	Listen string `json:"listen"`
	// Journal is its file.
	Journal string `json:"journal"`
	// Binding of the workflow; "" serves none and needs no database.
	Binding string `json:"binding"`
	// Table of the jobs that run the workflow.
	Table string `json:"table"`
	// The database.
	DB Database `json:"db"`
}

// A Database as a process reaches it.
type Database struct {
	URL       string `json:"url"`
	Namespace string `json:"namespace"`
	Database  string `json:"database"`
	User      string `json:"user"`
	Password  string `json:"password"`
}

// stopGrace is how long a process that is told to end may take.
const stopGrace = 10 * time.Second

// Main is the process. It answers with the exit code.
func Main() int {
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	var s Settings
	if err := json.Unmarshal([]byte(os.Getenv(Variable)), &s); err != nil {
		log.Error("settings", "error", err)
		return 1
	}
	if err := run(ctx, s, log); err != nil {
		log.Error("ended", "error", err)
		return 1
	}
	return 0
}

// A process is what all its requests share.
type process struct {
	Settings
	log     *slog.Logger
	journal *journal.Writer
	trouble trouble
	flow    *wf.Workflow[params] // nil without a binding
	asked   atomic.Int64
}

func run(ctx context.Context, s Settings, log *slog.Logger) (err error) {
	p := &process{Settings: s, log: log}
	if p.journal, err = journal.Open(s.Journal, s.Name); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.journal.Close()) }()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", s.Listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	if s.Binding == "" {
		return p.serve(ctx, listener, http.HandlerFunc(p.doJob), nil)
	}
	return p.withEngine(ctx, listener)
}

// withEngine serves the workflow; its connection to the database ends last.
func (p *process) withEngine(ctx context.Context, listener net.Listener) error {
	client, err := surreal.New(surreal.Config{
		Endpoint: p.DB.URL, Namespace: p.DB.Namespace, Database: p.DB.Database, Username: p.DB.User, Password: p.DB.Password, Logger: p.log,
	})
	if err != nil {
		return err
	}
	engine, err := wf.New(ctx, wf.Config{DB: client.Retrying(), OutboxTable: p.Table, Backend: "go", Logger: p.log})
	if err != nil {
		return err
	}
	p.flow = wf.Register(engine, p.Binding, p.perform)
	connected, hangUp := context.WithCancel(context.WithoutCancel(ctx))
	defer hangUp()
	var all errgroup.Group
	all.Go(func() error { return client.Run(connected) })
	all.Go(func() error {
		defer hangUp()
		return p.serve(ctx, listener, engine.Handler(http.NotFoundHandler()), engine)
	})
	return all.Wait()
}

// serve serves until ctx ends; then runs are handed over and requests may finish.
func (p *process) serve(ctx context.Context, listener net.Listener, work http.Handler, engine *wf.Engine) error {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /{node}/healthz", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("POST /__chaos/trouble", p.beTroubled)
	mux.HandleFunc("POST /__chaos/act", p.act)
	mux.Handle("POST /{node}/", p.noted(work))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopGrace)
	defer cancel()
	var err error
	if engine != nil {
		err = engine.Close(grace)
	}
	err = errors.Join(err, server.Shutdown(grace))
	<-ended
	return err
}

// nonce is unique to this call, in all processes.
func (p *process) nonce() string { return fmt.Sprintf("%s.%d", p.Name, p.asked.Add(1)) }

// reply answers with JSON. Whoever asked may be gone.
func reply(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

// decode reads a request's body; false where it answered that it can't.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	err := json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(into)
	if err != nil {
		reply(w, http.StatusUnprocessableEntity, map[string]string{"error": err.Error()})
	}
	return err == nil
}
