package protocol

import (
	"context"
	"log/slog"
	"time"
)

// A Kit is what package wftest puts in the place of a database, of time and of steps' functions.
type Kit struct {
	Store  Store
	Logger *slog.Logger
	// Now is the clock of runs, instead of the store's carried on by the process's. No pause between
	// attempts is sat out by it.
	Now func() time.Time
	// Replay lets no run see what a step came to in it: the code always gets it from the store, in
	// another run.
	Replay bool
	// Step is called for each attempt of a step, with what calls the step's function. A value of type
	// Stub is the result in the function's stead.
	Step func(ctx context.Context, c Call, fn func(context.Context) (any, error)) (any, error)
}

// A Call says which attempt of which step is made.
type Call struct {
	Name                string
	Occurrence, Attempt int
	Timeout             time.Duration
	// Statements and Vars are those of a step that is a statement block.
	Statements string
	Vars       map[string]any
}

// A Stub is a step's result that has not been made a stored value yet.
type Stub struct{ Value any }
