//go:build unix

package workflow_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"syscall"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// What makes this binary a child process, and its settings as JSON.
const (
	roleVariable     = "SPKY_WORKFLOW_TEST_ROLE"
	settingsVariable = "SPKY_WORKFLOW_TEST_SETTINGS"
	roleBackend      = "backend"
)

// childSettings describe a backend in a process of its own.
type childSettings struct {
	Endpoint, Namespace, Database, Username, Password string

	Table string
	// Die makes it kill itself after each step that it has stored.
	Die bool
}

// play is the main function of a child process; it answers with its exit code.
func play(role string) int {
	err := errors.New("no such role: " + role)
	if role == roleBackend {
		err = playBackend()
	}
	fmt.Fprintln(os.Stderr, err)
	return 1
}

// playBackend says its address and runs the workflow CHILD until its standard input ends, which it
// does with the parent.
func playBackend() error {
	var s childSettings
	if err := json.Unmarshal([]byte(os.Getenv(settingsVariable)), &s); err != nil {
		return err
	}
	ctx := context.Background()
	client, _, err := surreal.Connect(ctx, surreal.Config{Endpoint: s.Endpoint, Namespace: s.Namespace, Database: s.Database, Username: s.Username, Password: s.Password})
	if err != nil {
		return err
	}
	engine, err := wf.New(ctx, wf.Config{
		DB: mortal{client.Retrying(), s.Die}, OutboxTable: s.Table,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	if err != nil {
		return err
	}
	words := make(chan string)
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			words <- lines.Text()
		}
		os.Exit(3)
	}()
	wf.Register(engine, "CHILD", childWorkflow(client, func(word string) { fmt.Println(word) }, words))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	return http.Serve(listener, engine.Handler(http.NotFoundHandler()))
}

// mortal is a database whose user dies with SIGKILL once a step is stored.
type mortal struct {
	surreal.Querier
	die bool
}

func (m mortal) Query(ctx context.Context, surql string, vars map[string]any) (surreal.Results, error) {
	results, err := m.Querier.Query(ctx, surql, vars)
	if m.die && err == nil && afterCommit(surql) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // it takes a moment
	}
	return results, err
}

// childParams choose what the workflow CHILD does.
type childParams struct {
	// Held makes its second step say "held" and wait for a word of the parent's.
	Held bool
}

// childWorkflow writes a row for each call of a step's function.
func childWorkflow(db surreal.Querier, say func(string), words <-chan string) func(context.Context, wf.Event[childParams], *wf.Step) (int, error) {
	return func(ctx context.Context, ev wf.Event[childParams], s *wf.Step) (int, error) {
		called := func(ctx context.Context, n int) (int, error) {
			err := surreal.Exec(ctx, db, "CREATE call SET n = $n, instance = $i, attempt = $a", map[string]any{"n": n, "i": ev.InstanceID, "a": wf.Attempt(ctx)})
			return n, err
		}
		sum := 0
		for n := 1; n <= 3; n++ {
			v, err := wf.Do(ctx, s, fmt.Sprintf("step %d", n), func(ctx context.Context) (int, error) {
				if ev.Payload.Held && n == 2 {
					say("held")
					<-words
				}
				return called(ctx, n)
			})
			if err != nil {
				return 0, err
			}
			sum += v
		}
		if err := s.Sleep(ctx, "nap", 100*time.Millisecond); err != nil {
			return 0, err
		}
		got, err := wf.WaitForEvent[int](ctx, s, "more", "more")
		if err != nil {
			return 0, err
		}
		last, err := wf.Do(ctx, s, "last", func(ctx context.Context) (int, error) { return called(ctx, got.Payload) })
		return sum + last, err
	}
}
