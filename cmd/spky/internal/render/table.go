package render

import (
	"io"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Table is text in columns. Colours and widths do not get in each other's
// way.
type Table struct {
	head  []string
	rows  [][]string
	paint map[int]func(string) string
}

// NewTable starts a table with its column titles.
func NewTable(titles ...string) *Table {
	return &Table{head: titles, paint: map[int]func(string) string{}}
}

// Paint colours the cells of a column.
func (t *Table) Paint(column int, paint func(string) string) { t.paint[column] = paint }

// Add appends a row with a cell for each column. Control characters are made
// visible, so that what users stored cannot move the cursor.
func (t *Table) Add(cells ...string) {
	for i, cell := range cells {
		cells[i] = Printable(cell)
	}
	t.rows = append(t.rows, cells)
}

// Write writes the table: titles, then rows, columns two blanks apart.
func (t *Table) Write(w io.Writer, style Style) error { return t.WriteIndented(w, style, "") }

// WriteIndented is Write with something before each line.
func (t *Table) WriteIndented(w io.Writer, style Style, indent string) error {
	widths := make([]int, len(t.head))
	for _, row := range append([][]string{t.head}, t.rows...) {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	b.WriteString(indent)
	t.line(&b, t.head, widths, func(_ int, cell string) string { return style.Dim(cell) })
	for _, row := range t.rows {
		b.WriteString(indent)
		t.line(&b, row, widths, func(i int, cell string) string {
			if paint := t.paint[i]; paint != nil {
				return paint(cell)
			}
			return cell
		})
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (t *Table) line(b *strings.Builder, cells []string, widths []int, paint func(int, string) string) {
	for i, cell := range cells {
		b.WriteString(paint(i, cell))
		if i == len(cells)-1 {
			break
		}
		b.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
	}
	b.WriteByte('\n')
}

// Printable is text without control characters.
func Printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' || unicode.Is(unicode.Bidi_Control, r) {
			return '\ufffd'
		}
		return r
	}, text)
}

// Cut shortens text to at most n characters.
func Cut(text string, n int) string {
	if utf8.RuneCountInString(text) <= n {
		return text
	}
	return string([]rune(text)[:n-1]) + "…"
}
