package wf

import (
	"errors"
	"fmt"
	"strings"
)

// ErrBlock is a statement block that [Query] can't make part of a transaction.
var ErrBlock = errors.New("wf: illegal statement block")

// checkBlock refuses a block that could end the transaction it is put into: one whose braces close
// more than it opens, or that names a statement about transactions. It reads no more of the language
// than texts and comments, and what it can't tell it refuses.
func checkBlock(surql string, vars map[string]any) error {
	for name := range vars {
		if strings.HasPrefix(name, "spky_") {
			return fmt.Errorf("%w: the variable $%s is the platform's", ErrBlock, name)
		}
	}
	code, err := codeOf(surql)
	if err != nil {
		return err
	}
	if err := checkBrackets(code); err != nil {
		return err
	}
	return checkWords(code)
}

func checkBrackets(code string) error {
	depth := 0
	for _, c := range code {
		switch c {
		case '{', '(', '[':
			depth++
		case '}', ')', ']':
			depth--
		}
		if depth < 0 {
			return fmt.Errorf("%w: it closes a bracket that it does not open", ErrBlock)
		}
	}
	if depth != 0 {
		return fmt.Errorf("%w: it leaves a bracket open", ErrBlock)
	}
	return nil
}

func checkWords(code string) error {
	for word := range strings.FieldsFuncSeq(code, notInWord) {
		switch strings.ToUpper(word) {
		case "BEGIN", "COMMIT", "CANCEL", "USE":
			return fmt.Errorf("%w: %s ends or changes the transaction that it runs in", ErrBlock, strings.ToUpper(word))
		case "FUNCTION":
			return fmt.Errorf("%w: a function may hold a script, whose braces and texts follow other rules", ErrBlock)
		}
	}
	return nil
}

func notInWord(c rune) bool {
	return c != '_' && c != '$' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
}

// codeOf is the block with its texts, quoted names and comments blanked out.
func codeOf(surql string) (string, error) {
	var code strings.Builder
	rest := surql
	for rest != "" {
		i := strings.IndexAny(rest, "'\"`⟨#-/")
		if i < 0 {
			code.WriteString(rest)
			break
		}
		code.WriteString(rest[:i])
		skipped, err := skip(rest[i:])
		if err != nil {
			return "", err
		}
		if skipped == 0 { // an operator
			code.WriteByte(rest[i])
			skipped = 1
		} else {
			code.WriteByte(' ')
		}
		rest = rest[i+skipped:]
	}
	return code.String(), nil
}

// skip is the length of the text, quoted name or comment that rest starts with; 0 without one.
func skip(rest string) (int, error) {
	switch {
	case rest[0] == '#', strings.HasPrefix(rest, "--"), strings.HasPrefix(rest, "//"):
		return comment(rest)
	case strings.HasPrefix(rest, "/*"):
		return until(rest, "/*", "*/")
	case rest[0] == '/':
		if regexpLike(rest) {
			return 0, fmt.Errorf("%w: it may hold a regular expression between slashes, which can't be told from a division; bind the expression as a variable, and begin comments after a division with --", ErrBlock)
		}
		return 0, nil
	case strings.HasPrefix(rest, "⟨"):
		n, err := until(rest, "⟨", "⟩")
		if err == nil && strings.Contains(rest[:n], `\`) {
			err = fmt.Errorf("%w: a name in ⟨⟩ has a backslash, which not all servers read alike", ErrBlock)
		}
		return n, err
	case rest[0] == '-':
		return 0, nil
	}
	return quoted(rest)
}

// comment is the length of the comment that rest starts with. Besides a line feed, the database knows
// other ends of a line, which an editor does not show.
func comment(rest string) (int, error) {
	line, _, found := strings.Cut(rest, "\n")
	if strings.ContainsAny(strings.TrimSuffix(line, "\r"), "\r\u0085\u2028\u2029") {
		return 0, fmt.Errorf("%w: a comment holds a character that ends lines but does not look like it", ErrBlock)
	}
	if found {
		return len(line) + 1, nil
	}
	return len(line), nil
}

// regexpLike says whether a slash could open a regular expression: a second one follows, on whatever
// line.
func regexpLike(rest string) bool { return strings.Contains(rest[1:], "/") }

func until(rest, open, end string) (int, error) {
	i := strings.Index(rest[len(open):], end)
	if i < 0 {
		return 0, fmt.Errorf("%w: %q is not closed", ErrBlock, open)
	}
	return len(open) + i + len(end), nil
}

func quoted(rest string) (int, error) {
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case rest[0]:
			return i + 1, nil
		}
	}
	return 0, fmt.Errorf("%w: a text is not closed", ErrBlock)
}
