// Package render writes what commands answer with: tables, ages and JSON.
package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"sp00ky.cloud/spky/surreal"
)

// JSON writes a value as indented JSON with a line end.
func JSON(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// Rows writes decoded database values as indented JSON with a line end.
func Rows(w io.Writer, v any) error {
	text, err := surreal.ToJSON(v)
	if err != nil {
		return err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		return fmt.Errorf("indent JSON: %w", err)
	}
	out.WriteByte('\n')
	_, err = out.WriteTo(w)
	return err
}

// JSONLine writes a value as one line of JSON.
func JSONLine(w io.Writer, v any) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	if err := out.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// IsTerminal says whether a person looks at w.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colors says whether w takes colours: a terminal does, unless NO_COLOR is set.
func Colors(w io.Writer, env func(string) (string, bool)) bool {
	if off, set := env("NO_COLOR"); set && off != "" {
		return false
	}
	if kind, _ := env("TERM"); kind == "dumb" {
		return false
	}
	return IsTerminal(w)
}
