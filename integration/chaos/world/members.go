package world

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"sp00ky.cloud/spky/integration/chaos/backend"
	"sp00ky.cloud/spky/integration/chaos/plan"
)

// newProcess is a member that is yet to start.
func (w *World) newProcess(name string) *Process {
	p := &Process{world: w, name: name}
	if strings.HasPrefix(name, "n") {
		p.command = func(_ int, extra []string) *exec.Cmd { return w.node(name, extra) }
	} else {
		p.command = func(life int, extra []string) *exec.Cmd { return w.server(name, life, extra) }
	}
	return p
}

// AdminToken is what operators sign in with.
const AdminToken = "chaos-operators-have-every-right"

// adminOf is the name of a node's admin API.
func adminOf(node string) string { return node + "/admin" }

// Admin is where operators reach a node's admin API.
func (w *World) Admin(node string) string { return w.Control(adminOf(node)) }

// Process is a member by its name.
func (w *World) Process(name string) *Process { return w.processes[name] }

func (w *World) node(name string, extra []string) *exec.Cmd {
	cmd := w.spky(name, "run", "--listen", w.ports[name], "--admin-listen", w.ports[adminOf(name)])
	cmd.Env = append(cmd.Env, "SPKY_DB_URL=ws://"+w.links[name+">"+plan.Database].Addr(), "SPKY_SSP_ID="+name)
	cmd.Env = append(cmd.Env, extra...)
	return cmd
}

// spky is the product's program with a node's configuration.
func (w *World) spky(node string, args ...string) *exec.Cmd {
	args = append(args, "--config", filepath.Join(w.Dir, "project", node+".yml"))
	cmd := exec.Command(w.programs.spky, args...) //nolint:noctx // the world ends it
	cmd.Env = append(os.Environ(), "SPKY_DB_USER="+user, "SPKY_DB_PASS="+password, "SPKY_LOG_FORMAT=json", "SPKY_LOG_LEVEL=info",
		"SPKY_DB_URL=ws://"+w.ports[plan.Database])
	return cmd
}

// server is a backend's process.
func (w *World) server(name string, life int, extra []string) *exec.Cmd {
	kind, _, _ := strings.Cut(name, "-")
	settings := backend.Settings{
		Name: fmt.Sprintf("%s.%d", name, life), Listen: w.ports[name], Journal: filepath.Join(w.Journals(), name+".jsonl"),
		Binding: plan.Binding(kind), Table: table(kind),
	}
	if link := w.links[name+">"+plan.Database]; link != nil {
		settings.DB = backend.Database{URL: "ws://" + link.Addr(), Namespace: namespace, Database: databaseName, User: user, Password: password}
	}
	text, err := json.Marshal(settings)
	if err != nil {
		panic(err) // texts and nothing else
	}
	line := w.Backend
	if kind == "ts" {
		line = []string{"node", "--enable-source-maps", w.programs.typescript}
	}
	cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // the world ends it
	cmd.Env = append(append(os.Environ(), backend.Variable+"="+string(text)), extra...)
	return cmd
}

// table is a backend's outbox table.
func table(kind string) string {
	switch kind {
	case "shop":
		return "job"
	case "part":
		return "part_job"
	}
	return kind + "_run"
}

// Tables are the outbox tables.
func Tables() []string { return []string{"job", "part_job", "go_run", "ts_run"} }

// worksPatience is how long everything may take to work.
const worksPatience = 2 * time.Minute

// Works waits until every process says that it works.
func (w *World) Works(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, worksPatience)
	defer cancel()
	for name := range w.processes {
		path := "/healthz"
		if strings.HasPrefix(name, "n") {
			path = "/ready"
		}
		if err := until(ctx, func() error { return answers(ctx, w.Control(name)+path) }); err != nil {
			return fmt.Errorf("%s does not work: %w", name, err)
		}
	}
	return nil
}

func answers(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // nothing is read of it
	if resp.StatusCode != http.StatusOK {
		return errors.New(resp.Status)
	}
	return nil
}

// until tries again and again; the error is the last one.
func until(ctx context.Context, try func() error) error {
	again := time.NewTicker(50 * time.Millisecond)
	defer again.Stop()
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return err
		}
	}
}
