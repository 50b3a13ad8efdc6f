package wf

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf/internal/protocol"
)

// Query makes a step of a SurrealQL statement block: what it writes and the step's result are one
// transaction, which is made once, whatever crashes. Use it for steps that only write to the same
// database; a step made with [Do] may have done its work and crash before its result is stored.
//
// The block may have any number of statements. Its result is that of the last; make it JSON of at
// most 1 MiB. It runs inside a transaction already, so it must not begin, commit or cancel one.
// Values go into vars, whose names must not start with spky_. A THROW, or any other failure, undoes
// the whole and fails the attempt.
//
// Mind that SurrealDB 3.0 leaves the id out where a transaction selects a row that it has written
// itself: take ids from what the write returns.
func Query[T any](ctx context.Context, s *Step, name, surql string, vars map[string]any, opts ...Option) (T, error) {
	key, row := s.run.identify(protocol.KindDo, name)
	value, err := s.run.query(ctx, key, row, surql, vars, opts)
	if err != nil {
		var none T
		return none, err
	}
	return decode[T](fmt.Sprintf("result of step %q", name), value)
}

// A querier is a store that can make a statement block part of a commit.
type querier interface {
	query(ctx context.Context, w protocol.StepWrite, surql string, vars map[string]any) (protocol.Ack, any, error)
}

func (r *run) query(ctx context.Context, key stepKey, row *storedStep, surql string, vars map[string]any, opts []Option) (any, error) {
	if err := checkBlock(surql, vars); err != nil {
		return nil, fmt.Errorf("step %q: %w", key.name, err)
	}
	ctx = context.WithValue(ctx, blockKey{}, block{surql: surql, vars: vars})
	return r.do(ctx, key, row, opts, func(ctx context.Context, a *attempts) (any, error) {
		db, ok := r.store.(querier)
		if !ok {
			return nil, &fatalError{errNoDatabase}
		}
		ended := r.now()
		step := a.step
		step.Status = protocol.StepComplete
		step.Attempts[len(step.Attempts)-1].EndedAt = &ended
		w := protocol.StepWrite{Instance: r.instance.ID, Fence: r.instance.Fence, Step: step, Done: true}
		own, err := persist(ctx, func(ctx context.Context) (committedValue, error) {
			ack, value, err := db.query(ctx, w, surql, vars)
			return committedValue{value: value, ack: ack}, err
		})
		if err != nil {
			return nil, err
		}
		return own, nil
	})
}

// Texts that the protocol's functions throw.
const (
	thrownFenced = "spky: fenced"
	thrownDone   = "spky: done"
)

// query runs the block between the check of the fence and the commit of the step.
func (d *database) query(ctx context.Context, w protocol.StepWrite, surql string, vars map[string]any) (protocol.Ack, any, error) {
	all := map[string]any{"spky_op": stepOp(w)}
	for name, value := range vars {
		all[name] = value
	}
	// A closure keeps a RETURN of the block from ending the transaction: at its top level it would
	// skip to the COMMIT.
	text := "BEGIN;\nLET $spky_held = fn::spky::wf::hold($spky_op);\nLET $spky_result = (|| {\n" + surql + "\n})();\n" +
		"RETURN fn::spky::wf::commit_query($spky_op, $spky_result);\nCOMMIT;"
	answer, err := surreal.Last[struct {
		Pause  bool `json:"pause"`
		Output any  `json:"output"`
	}](ctx, d.db, text, all)
	if thrown, ok := surreal.IsThrown(err); ok {
		switch {
		case strings.Contains(thrown, thrownFenced):
			return protocol.Ack{}, nil, nil
		case strings.Contains(thrown, thrownDone): // an earlier call whose answer was lost
			return d.stored(ctx, w)
		}
	}
	if err != nil {
		return protocol.Ack{}, nil, err
	}
	return protocol.Ack{OK: true, Pause: answer.Pause}, answer.Output, nil
}

// stored reads the result of a step that is done.
func (d *database) stored(ctx context.Context, w protocol.StepWrite) (protocol.Ack, any, error) {
	output, err := surreal.First[any](ctx, d.db, "RETURN fn::spky::wf::output_of($op)", map[string]any{"op": stepOp(w)})
	return protocol.Ack{OK: true}, output, err
}

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
	for word := range strings.FieldsFuncSeq(code, func(c rune) bool {
		return c != '_' && c != '$' && (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z')
	}) {
		switch strings.ToUpper(word) {
		case "BEGIN", "COMMIT", "CANCEL", "USE":
			return fmt.Errorf("%w: %s ends or changes the transaction that it runs in", ErrBlock, strings.ToUpper(word))
		case "FUNCTION":
			return fmt.Errorf("%w: a function may hold a script, whose braces and texts follow other rules", ErrBlock)
		}
	}
	return nil
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
