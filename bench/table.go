package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"
)

// A Table is every figure of one run, and what an earlier run said.
type Table struct {
	At     time.Time `json:"at"`
	System string    `json:"system"`
	CPUs   int       `json:"cpus"`
	// Load is the machine's at the beginning, before anything was measured: processes that wanted a CPU, in
	// the minute before. 0 where it is not known.
	Load    float64  `json:"load"`
	Seconds float64  `json:"seconds"`
	Figures []Figure `json:"figures"`
	// Last is the run to compare with, nil without one.
	Last *Table `json:"-"`
}

// A Figure is one thing that was measured, beside what bounds it: a ceiling for what should be much, a
// floor for what should be little, taken in the same run.
type Figure struct {
	Name  string  `json:"name"`
	Unit  string  `json:"unit"`
	Value float64 `json:"value"`
	// Bound is 0 where there is none, Of says what it is.
	Bound float64 `json:"bound,omitempty"`
	Of    string  `json:"of,omitempty"`
	// Ratio is Value by Bound.
	Ratio float64 `json:"ratio,omitempty"`
	Want  Want    `json:"want,omitzero"`
}

// A Want is what a figure should be on two cores that have nothing else to do; what is 0 is not asked for.
type Want struct {
	Least      float64 `json:"least,omitempty"`
	Most       float64 `json:"most,omitempty"`
	LeastRatio float64 `json:"least_ratio,omitempty"`
	MostRatio  float64 `json:"most_ratio,omitempty"`
}

func (t *Table) add(f Figure) {
	if f.Bound > 0 {
		f.Ratio = f.Value / f.Bound
	}
	t.Figures = append(t.Figures, f)
}

// bound is that of a figure which has been taken already.
func (t *Table) bound(name string) float64 {
	for _, f := range t.Figures {
		if f.Name == name {
			return f.Bound
		}
	}
	return 0
}

// Holds says whether the figure is as wanted; true where nothing is wanted.
func (f Figure) Holds() bool {
	w := f.Want
	return (w.Least == 0 || f.Value >= w.Least) && (w.Most == 0 || f.Value <= w.Most) &&
		(w.LeastRatio == 0 || f.Ratio >= w.LeastRatio) && (w.MostRatio == 0 || f.Ratio <= w.MostRatio)
}

func (w Want) String() string {
	var all []string
	for _, one := range []struct {
		form  string
		bound float64
	}{{"≥ %s", w.Least}, {"≤ %s", w.Most}, {"ratio ≥ %s", w.LeastRatio}, {"ratio ≤ %s", w.MostRatio}} {
		if one.bound != 0 {
			all = append(all, fmt.Sprintf(one.form, amount(one.bound)))
		}
	}
	return strings.Join(all, ", ")
}

// cells are a figure's columns, with those of the last run.
func (t Table) cells(f Figure) []string {
	cells := []string{f.Name, amount(f.Value) + " " + f.Unit, "", "", f.Want.String(), "", "", ""}
	if f.Bound > 0 {
		cells[2], cells[3] = amount(f.Bound)+", "+f.Of, amount(f.Ratio)
	}
	if f.Want != (Want{}) {
		cells[5] = map[bool]string{true: "yes", false: "no"}[f.Holds()]
	}
	if t.Last == nil {
		return cells[:len(t.titles())]
	}
	if last, ok := t.last(f.Name); ok {
		cells[6] = amount(last.Value)
		if last.Ratio > 0 {
			cells[7] = amount(last.Ratio)
		}
	}
	return cells
}

func (t Table) last(name string) (Figure, bool) {
	if t.Last == nil {
		return Figure{}, false
	}
	for _, f := range t.Last.Figures {
		if f.Name == name {
			return f, true
		}
	}
	return Figure{}, false
}

func (t Table) titles() []string {
	titles := []string{"figure", "now", "ceiling or floor", "ratio", "wanted", "holds"}
	if t.Last != nil {
		titles = append(titles, "last", "last ratio")
	}
	return titles
}

// Write prints the table for people.
func (t Table) Write(w io.Writer) error {
	columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(columns, strings.Join(t.titles(), "\t")) // Flush tells
	for _, f := range t.Figures {
		_, _ = fmt.Fprintln(columns, strings.Join(t.cells(f), "\t"))
	}
	if err := columns.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(w, "%s, in %.0f s%s\n", t.circumstances(), t.Seconds, t.beside())
	return err
}

// Markdown prints it for a page of documentation.
func (t Table) Markdown(w io.Writer) error {
	var b strings.Builder
	line := func(cells []string) { b.WriteString("| " + strings.Join(cells, " | ") + " |\n") }
	line(t.titles())
	line(strings.Split(strings.Repeat("---,", len(t.titles())-1)+"---", ","))
	for _, f := range t.Figures {
		line(t.cells(f))
	}
	fmt.Fprintf(&b, "\n%s, in %.0f s%s.\n", t.circumstances(), t.Seconds, t.beside())
	_, err := io.WriteString(w, b.String())
	return err
}

func (t Table) beside() string {
	if t.Last == nil {
		return ""
	}
	return "; last: " + t.Last.circumstances()
}

func (t Table) circumstances() string {
	return fmt.Sprintf("%s, %d CPUs, a load of %.1f before, %s", t.At.Format(time.DateTime), t.CPUs, t.Load, t.System)
}

// ReadTable reads what Save wrote; nil where there is no such file.
func ReadTable(file string) (*Table, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var t Table
	if err := json.Unmarshal(text, &t); err != nil {
		return nil, fmt.Errorf("read the table in %s: %w", file, err)
	}
	return &t, nil
}

// Save writes the table for ReadTable.
func (t Table) Save(file string) error {
	text, err := json.MarshalIndent(t, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}

// amount has three digits or so.
func amount(v float64) string {
	switch {
	case v >= 100:
		return thousands(int(v + .5))
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}

// thousands parts a number's digits by commas.
func thousands(n int) string {
	text := strconv.Itoa(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
