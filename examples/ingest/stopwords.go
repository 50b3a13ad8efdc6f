package main

import "strings"

// commonWords say little about a text, in the English of its authors.
const commonWords = ` a all an and any are art as at be but by can did do for from had has hath have he her here his how i if in
	into is it its me men more my no nor not o of on or our shall she so than that the thee their them they this thou thy to too
	us was we were what when which who will with you `

func isCommon(word string) bool {
	for common := range strings.FieldsSeq(commonWords) {
		if common == word {
			return true
		}
	}
	return false
}
