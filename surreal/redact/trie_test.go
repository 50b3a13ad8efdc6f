package redact

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// TestTrie finds in one pass what a search for each value finds.
func TestTrie(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	letters := func(n int) string {
		var out strings.Builder
		for range n {
			out.WriteByte("ab "[random.IntN(3)])
		}
		return out.String()
	}
	for range 2000 {
		values := []string{letters(1 + random.IntN(9)), letters(1 + random.IntN(9)), letters(1 + random.IntN(9)), letters(1 + random.IntN(5))}
		text := letters(random.IntN(40)) + "."
		want, got := make([]bool, len(text)), make([]bool, len(text))
		for from := range text {
			for _, v := range values {
				if to := from + len(v); strings.HasPrefix(text[from:], v) && (len(v) >= short || alone(text, from, to)) {
					mark(want, from, to)
				}
			}
		}
		newTrie(values).find(text, func(from, to int) { mark(got, from, to) })
		if !slices.Equal(got, want) {
			t.Fatalf("%q in %q: %v, want %v", values, text, got, want)
		}
	}
}

func mark(places []bool, from, to int) {
	for i := from; i < to; i++ {
		places[i] = true
	}
}
