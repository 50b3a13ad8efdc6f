package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	// patience is how long a call may take.
	patience = 30 * time.Second
	// maxAnswer is the longest structured answer.
	maxAnswer = 64 << 10
)

// An effect is what a tool does to the world.
type effect int

const (
	reads effect = iota
	changes
	destroys
)

// A tool is one operation as agents see it.
type tool[In, Out any] struct {
	name, title string
	// when says when to use it.
	when   string
	effect effect
	// again says whether calling it twice comes to the same as calling it once.
	again bool
	// narrow narrows the input down, where it is not nil.
	narrow func(properties)
	call   func(context.Context, In) (Out, error)
	// text is the answer for clients that show no structured ones. Defaults to its JSON.
	text func(Out) string
}

// offer adds a tool to a server.
func offer[In, Out any](s *Server, t tool[In, Out]) {
	in := schemaOf[In]()
	if t.narrow != nil {
		t.narrow(in.Properties)
	}
	check := resolved(in)
	s.effects[t.name] = t.effect
	s.protocol.AddTool(&sdk.Tool{
		Name: t.name, Title: t.title, Description: t.when, InputSchema: in, OutputSchema: schemaOf[Out](), Annotations: t.annotations(),
	}, func(ctx context.Context, r *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		args, err := parse[In](r.Params.Arguments, check.Validate)
		if err != nil {
			return refusal(err), nil
		}
		ctx, cancel := context.WithTimeout(s.cfg.acting(ctx), patience)
		defer cancel()
		out, err := t.call(ctx, args)
		if err != nil {
			return refusal(err), nil
		}
		return t.answer(out), nil
	})
}

func (t tool[In, Out]) annotations() *sdk.ToolAnnotations {
	destroy, open := t.effect == destroys, false
	return &sdk.ToolAnnotations{
		Title: t.title, ReadOnlyHint: t.effect == reads, DestructiveHint: &destroy, IdempotentHint: t.again || t.effect == reads, OpenWorldHint: &open,
	}
}

// parse reads arguments, which have to fit the schema.
func parse[In any](text json.RawMessage, check func(any) error) (In, error) {
	var args In
	if len(bytes.TrimSpace(text)) == 0 {
		text = json.RawMessage("{}")
	}
	raw := map[string]any{}
	if err := json.Unmarshal(text, &raw); err != nil {
		return args, inputf("arguments: %v", err)
	}
	if err := check(raw); err != nil {
		return args, inputf("arguments: %v", err)
	}
	if err := json.Unmarshal(text, &args); err != nil {
		return args, inputf("arguments: %v", err)
	}
	return args, nil
}

// answer is a result, clean and not too long.
func (t tool[In, Out]) answer(out Out) *sdk.CallToolResult {
	structured, err := encode(out)
	if err != nil {
		return refusal(err)
	}
	if len(structured) > maxAnswer {
		return refusal(inputf("the answer has %d bytes, more than %d; ask for less", len(structured), maxAnswer))
	}
	text := string(structured)
	if t.text != nil {
		text = clean(t.text(out))
	}
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, StructuredContent: structured}
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// quoted is a word of somebody else in a line of text: in quotes unless it is plain.
func quoted(word string) string {
	for _, r := range word {
		plain := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' || r == '.' || r == ':' || r == '/'
		if !plain {
			return fmt.Sprintf("%q", clean(word))
		}
	}
	if word == "" {
		return `""`
	}
	return word
}
