// Package world is the installation that a chaos run happens to: a database, nodes, backends, every one of them a
// process of its own, and a proxy in each connection between them.
//
//	n1 n2 n3 ──proxy──▶ shop-a shop-b go-a go-b ts-a ts-b
//	 └─proxy─▶ database ◀─proxy─┘ (go, ts)
//
// The nodes are the product's own program, built for the run; with a sabotage or a shifted clock from sources that
// are replaced while it is compiled, which leaves the checkout as it is.
package world

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

// Config of a world.
type Config struct {
	// Dir takes everything: programs, the database's files, logs, journals. It has to be empty.
	Dir string
	// Sabotage breaks the program on purpose; "" doesn't. See [Sabotages].
	Sabotage string
	// Clock builds nodes whose clock can be shifted, which takes a minute more.
	Clock bool
	// Race builds nodes with the race detector.
	Race bool
	// Keep is how long finished rows are kept: see [plan.Options.Keep].
	Keep time.Duration
	// Backend is the command line of a Go backend process: this program in its other role.
	Backend []string
	// Log is told what happens.
	Log *slog.Logger
}

// Names of the database that a run uses.
const (
	namespace    = "chaos"
	databaseName = "chaos"
	user         = "root"
	password     = "root"
)

// A World is a running installation.
type World struct {
	Config
	// DB is the driver's own connection to the database, which no proxy disturbs.
	DB *surreal.Client

	programs  programs
	database  *devdb.Server
	data      devdb.Config
	processes map[string]*Process
	ports     map[string]string
	links     map[string]*faultproxy.Proxy
	hangUp    func() error
	turns     map[string]*sync.Mutex // by target: one fault at a time

	mu     sync.Mutex
	faults []string
}

// Start builds the programs, starts everything and waits until it works.
func Start(ctx context.Context, cfg Config) (*World, error) {
	w := &World{Config: cfg, processes: map[string]*Process{}, ports: map[string]string{}, links: map[string]*faultproxy.Proxy{}, turns: map[string]*sync.Mutex{}}
	for _, target := range plan.Targets() {
		w.turns[target] = &sync.Mutex{}
	}
	if err := w.start(ctx); err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

func (w *World) start(ctx context.Context) error {
	for _, dir := range []string{"journal", "log", "project"} {
		if err := os.MkdirAll(filepath.Join(w.Dir, dir), 0o755); err != nil {
			return fmt.Errorf("make the run's directory: %w", err)
		}
	}
	var err error
	if w.programs, err = build(ctx, w.Config); err != nil {
		return err
	}
	if err := w.allot(); err != nil {
		return err
	}
	if err := w.startDatabase(ctx); err != nil {
		return err
	}
	if err := w.connectAll(); err != nil {
		return err
	}
	if err := w.migrate(ctx); err != nil {
		return err
	}
	for _, name := range append(plan.Servers(), plan.Nodes()...) {
		w.processes[name] = w.newProcess(name)
		if err := w.processes[name].Start(); err != nil {
			return err
		}
	}
	return w.Works(ctx)
}

// allot finds every listener an address that it keeps through all its lives.
func (w *World) allot() error {
	var held []net.Listener
	defer func() {
		for _, l := range held {
			_ = l.Close() // it has told its port
		}
	}()
	names := slices.Concat([]string{plan.Database}, plan.Servers(), plan.Nodes())
	for _, node := range plan.Nodes() {
		names = append(names, adminOf(node))
	}
	for _, name := range names {
		l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // returns at once
		if err != nil {
			return fmt.Errorf("find a port: %w", err)
		}
		held = append(held, l)
		w.ports[name] = l.Addr().String()
	}
	return nil
}

// connectAll puts a proxy into every link.
func (w *World) connectAll() error {
	for _, link := range plan.Links() {
		_, to, _ := strings.Cut(link, ">")
		proxy, err := faultproxy.Listen(w.ports[to])
		if err != nil {
			return err
		}
		w.links[link] = proxy
	}
	return nil
}

// startDatabase starts the database and connects to it.
func (w *World) startDatabase(ctx context.Context) error {
	log, err := os.OpenFile(filepath.Join(w.Dir, "log", "db.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	w.data = devdb.Config{Listen: w.ports[plan.Database], Data: filepath.Join(w.Dir, "data"), Log: log, User: user, Password: password}
	if w.database, err = devdb.Start(ctx, w.data); err != nil {
		return err
	}
	w.DB, w.hangUp, err = surreal.Connect(ctx, surreal.Config{
		Endpoint: w.database.Endpoint(), Namespace: namespace, Database: databaseName, Username: user, Password: password,
		MaxBackoff: 250 * time.Millisecond, CallTimeout: 2 * time.Minute, PingTimeout: 30 * time.Second,
	})
	return err
}

// Close ends everything that runs.
func (w *World) Close() error {
	var all errgroup.Group
	for _, p := range w.processes {
		all.Go(p.Kill)
	}
	errs := []error{all.Wait()}
	for _, proxy := range w.links {
		errs = append(errs, proxy.Close())
	}
	if w.hangUp != nil {
		errs = append(errs, w.hangUp())
	}
	if w.database != nil {
		errs = append(errs, w.database.Kill())
	}
	return errors.Join(errs...)
}

// Journals is the directory of the journals.
func (w *World) Journals() string { return filepath.Join(w.Dir, "journal") }

// Control is where the driver reaches a process directly.
func (w *World) Control(name string) string { return "http://" + w.ports[name] }

// fault notes what must not happen to a process.
func (w *World) fault(text string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.faults = append(w.faults, text)
}

// Faults are what processes did that nobody asked them to: ended, or refused to end.
func (w *World) Faults() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return append([]string(nil), w.faults...)
}
