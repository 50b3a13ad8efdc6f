package admin

import (
	"context"
	"strings"
)

// An Actor is who does something, and through which surface.
type Actor struct {
	// Name is the token's label, the user of the command line, or whatever names him best.
	Name string
	// Via is cli, api, mcp or dashboard.
	Via string
}

type actorKey struct{}

// WithActor says on whose behalf operations with this context are: the audit shows it.
func WithActor(ctx context.Context, a Actor) context.Context {
	return context.WithValue(ctx, actorKey{}, a)
}

// ActorOf answers with whom WithActor named; where nobody was named, name and surface are "unknown".
func ActorOf(ctx context.Context) Actor {
	a, _ := ctx.Value(actorKey{}).(Actor)
	if a.Name == "" {
		a.Name = "unknown"
	}
	if a.Via == "" {
		a.Via = "unknown"
	}
	return a
}

// short is a text of at most so many bytes that the database takes.
func short(text string, most int) string {
	if len(text) > most {
		text = text[:most] + "…"
	}
	return strings.ToValidUTF8(text, "\uFFFD")
}
