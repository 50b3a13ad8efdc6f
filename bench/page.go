package bench

import (
	"bytes"
	"errors"
	"fmt"
	"os"
)

// What stands around the table on a page of documentation.
const (
	pageFrom = "<!-- the last table: bench all --save writes it -->\n"
	pageTo   = "<!-- its end -->\n"
)

// ErrPage is a page without a place for the table.
var ErrPage = errors.New("the page has no place for the table: a line " + pageFrom[:len(pageFrom)-1] + " and after it a line " + pageTo[:len(pageTo)-1])

// SavePage puts the table into its place on a page, without the run that it was compared with.
func (t Table) SavePage(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := bytes.Cut(text, []byte(pageFrom))
	_, after, ended := bytes.Cut(rest, []byte(pageTo))
	if !found || !ended {
		return fmt.Errorf("%s: %w", file, ErrPage)
	}
	t.Last = nil
	var page bytes.Buffer
	page.Write(before)
	page.WriteString(pageFrom)
	if err := t.Markdown(&page); err != nil {
		return err
	}
	page.WriteString(pageTo)
	page.Write(after)
	return os.WriteFile(file, page.Bytes(), 0o644)
}
