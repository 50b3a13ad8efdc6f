package config

import "strings"

// nearest returns the candidate that word is most likely a misspelling of, or
// "" when none is close: a third of the letters may differ, at least two.
func nearest(word string, candidates []string) string {
	limit := max(2, len(word)/3)
	best, found := limit+1, ""
	for _, c := range candidates {
		n := distance(strings.ToLower(word), strings.ToLower(c))
		if n < best && n < len(c) {
			best, found = n, c
		}
	}
	return found
}

// distance is the Levenshtein distance of two short texts, in bytes. Keys that
// are absurdly long are simply far away.
func distance(a, b string) int {
	const tooLong = 64
	if len(a) > tooLong || len(b) > tooLong {
		return max(len(a), len(b))
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next := min(row[j+1]+1, row[j]+1, diagonal+cost)
			diagonal, row[j+1] = row[j+1], next
		}
	}
	return row[len(b)]
}
