package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"sp00ky.cloud/spky/surreal"
)

// TestAnAnswerThatIsTooLarge is told with what to do about it, and not as a database that is out of reach.
func TestAnAnswerThatIsTooLarge(t *testing.T) {
	t.Parallel()
	var told bytes.Buffer
	p := &program{err: &told}
	code := p.report(t.Context(), &cobra.Command{}, fmt.Errorf("list jobs: %w: 200000000 bytes", surreal.ErrAnswerTooLarge))
	if code != exitFailed || !strings.Contains(told.String(), "hint: ask for less") {
		t.Errorf("it ends with %d and says %s", code, told.String())
	}
}
