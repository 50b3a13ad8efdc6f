package config

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

const (
	// maxFileSize bounds sp00ky.yml and every YAML file that it includes.
	maxFileSize = 1 << 20
	// maxSpecSize bounds OpenAPI documents and outbox schemas.
	maxSpecSize = 16 << 20
)

// source is one file that findings point into and that relative paths start
// from.
type source struct {
	name string
	dir  string
}

func newSource(path string) *source {
	return &source{name: path, dir: filepath.Dir(path)}
}

// resolve returns path as seen from the directory of the file.
func (s *source) resolve(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(s.dir, path)
}

// errTooLarge is returned by readLimited for a file beyond the limit.
var errTooLarge = errors.New("file is too large")

// readLimited reads a regular file of at most limit bytes.
func readLimited(path string, limit int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if info.IsDir() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is a directory")}
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "read", Path: path, Err: errors.New("is not a regular file")}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, errTooLarge
	}
	return content, nil
}

// reason strips the operation and path from a file error; findings carry those.
func reason(err error) string {
	var pathErr *fs.PathError
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "there is no such file"
	case errors.As(err, &pathErr):
		return pathErr.Err.Error()
	}
	return err.Error()
}

// parse returns the root node of a YAML document that holds a mapping. Every
// reason for which it cannot is an error at the file's place; then it returns
// nil. A document without content has a root without pairs.
func (d *decoder) parse(src *source, content []byte) *yaml.Node {
	at := place{src: src}
	if fault, line := encodingFault(content); fault != "" {
		d.add(Finding{Severity: SeverityError, File: src.name, Line: line, Column: 1, Message: fault, Remedy: "save the file as UTF-8"})
		return nil
	}
	dec := yaml.NewDecoder(bytes.NewReader(content))
	var doc yaml.Node
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		d.warn(at, "the file is empty", "add an `apps:` section, or run `spky add api`")
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	case err != nil:
		d.syntaxFault(src, content, err)
		return nil
	}
	var second yaml.Node
	if err := dec.Decode(&second); !errors.Is(err, io.EOF) {
		if err != nil {
			d.syntaxFault(src, content, err)
		} else {
			at.node = &second
			d.fault(at, "found a second YAML document after `---`, allowed: one document", "keep one document in the file")
		}
		return nil
	}
	root := doc.Content[0]
	at.node = root
	if !d.checkTree(src, root) {
		return nil
	}
	switch {
	case isNull(root):
		d.warn(at, "the file is empty", "add an `apps:` section, or run `spky add api`")
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	case root.Kind != yaml.MappingNode:
		d.fault(at, "found "+describe(root)+" at the top, allowed: a mapping of keys to values", "start the file with a key such as `apps:`")
		return nil
	}
	return root
}

// encodingFault tells what is wrong with the bytes of a file and in which line,
// if anything.
func encodingFault(content []byte) (fault string, line int) {
	if bytes.HasPrefix(content, []byte("\xff\xfe")) || bytes.HasPrefix(content, []byte("\xfe\xff")) {
		return "found UTF-16, allowed: UTF-8", 1
	}
	line = 1
	for rest := content; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		switch {
		case r == utf8.RuneError && size == 1:
			return "found bytes that are not UTF-8, allowed: UTF-8 text", line
		case r == 0:
			return "found a NUL byte, allowed: UTF-8 text", line
		case r == '\n':
			line++
		}
		rest = rest[size:]
	}
	return "", 0
}

var yamlErrorLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(.*)$`)

// syntaxFault reports an error of the YAML parser at the line it names.
func (d *decoder) syntaxFault(src *source, content []byte, err error) {
	line, text := 1, err.Error()
	if m := yamlErrorLine.FindStringSubmatch(firstLine(text)); m != nil {
		text = m[2]
		if n, convErr := strconv.Atoi(m[1]); convErr == nil {
			line = n
		}
	}
	if at := culprit(content, err); at > 0 {
		line = at
	}
	line = max(1, min(line, 1+bytes.Count(content, []byte("\n"))))
	remedy := "correct the YAML; every line below a key has to be indented alike, and texts with `: ` or ` #` need quotes"
	if tab := tabLine(content, line); tab > 0 {
		line = tab
		text = "found a tab in the indentation, allowed: spaces"
		remedy = "replace the tab by spaces"
	}
	d.add(Finding{Severity: SeverityError, File: src.name, Line: line, Column: firstColumn(content, line), Message: "the YAML does not parse: " + text, Remedy: remedy})
}

// culprit returns the line that makes a text unparsable, or 0 when it cannot
// tell. The parser names the line where the surrounding value begins, or the end
// of the file; the culprit is the line with which the error first appears when
// the text grows line by line.
func culprit(content []byte, err error) int {
	const affordable = 256 << 10
	if len(content) > affordable {
		return 0
	}
	want := withoutLine(err)
	lines := bytes.SplitAfter(content, []byte("\n"))
	fails := func(n int) bool {
		err := yaml.Unmarshal(bytes.Join(lines[:n], nil), &yaml.Node{})
		return err != nil && withoutLine(err) == want
	}
	low, high := 0, len(lines)
	if !fails(high) {
		return 0
	}
	// Look near the end first: an earlier text of several lines fails as well
	// when it is cut.
	for step := 1; high-step > 0; step *= 2 {
		if !fails(high - step) {
			low = high - step
			break
		}
		high -= step
	}
	for low+1 < high {
		if mid := (low + high) / 2; fails(mid) {
			high = mid
		} else {
			low = mid
		}
	}
	return high
}

func withoutLine(err error) string {
	if m := yamlErrorLine.FindStringSubmatch(firstLine(err.Error())); m != nil {
		return m[2]
	}
	return err.Error()
}

// tabLine returns the line near the reported one that is indented with a tab,
// or 0. The parser reports a tab as a character that cannot start a token, now
// and then a line early or late.
func tabLine(content []byte, line int) int {
	lines := strings.Split(string(content), "\n")
	for _, n := range []int{line, line + 1, line - 1} {
		if n < 1 || n > len(lines) {
			continue
		}
		indent := lines[n-1][:len(lines[n-1])-len(strings.TrimLeft(lines[n-1], " \t"))]
		if strings.Contains(indent, "\t") && strings.TrimSpace(lines[n-1]) != "" {
			return n
		}
	}
	return 0
}

// firstColumn returns the column of the first thing in a line.
func firstColumn(content []byte, line int) int {
	lines := strings.SplitN(string(content), "\n", line+1)
	text := lines[min(line, len(lines))-1]
	return 1 + len(text) - len(strings.TrimLeft(text, " \t"))
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
