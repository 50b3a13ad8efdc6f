package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"sp00ky.cloud/spky/cmd/spky/internal/render"
)

// fields writes what a thing consists of, a line each; what is empty is left out.
type fields struct {
	out    io.Writer
	style  render.Style
	width  int
	indent string
}

// fields makes one whose values begin in a column.
func (p *program) fields(width int) *fields {
	return &fields{out: p.out, style: render.StyleFor(p.out, p.env), width: width}
}

func (f *fields) line(name, value string) {
	fmt.Fprintf(f.out, "%s%s %s\n", f.indent, f.style.Dim(fmt.Sprintf("%-*s", f.width, name)), value)
}

// text writes a text as it is, without control characters.
func (f *fields) text(name, value string) {
	if value != "" {
		f.line(name, render.Printable(value))
	}
}

// styled writes a text that holds colours.
func (f *fields) styled(name, value string) {
	if value != "" {
		f.line(name, value)
	}
}

func (f *fields) moment(name string, at *time.Time) {
	if at != nil {
		f.line(name, at.Local().Format("2006-01-02 15:04:05.000"))
	}
}

// json writes JSON over as many lines as it takes, cut after most bytes; null is empty.
func (f *fields) json(name string, value json.RawMessage, most int) {
	if len(value) == 0 || string(value) == "null" {
		return
	}
	var out bytes.Buffer
	if err := json.Indent(&out, value, f.indent+strings.Repeat(" ", f.width+1), "  "); err != nil {
		out.Reset()
		out.Write(value)
	}
	text := out.String()
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + " [… cut after " + fmt.Sprint(most) + " bytes]"
	}
	f.line(name, printableLines(text))
}

// printableLines is text without control characters other than line ends.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = render.Printable(line)
	}
	return strings.Join(lines, "\n")
}
