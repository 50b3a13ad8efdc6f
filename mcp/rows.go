package mcp

import (
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
)

const (
	// maxRow bounds a row of a list, in bytes of JSON, as long as the id in it does not fill it up.
	maxRow = 199
	// maxNote bounds what a row says beside the facts.
	maxNote = 40
	// defaultRows and mostRows are how many rows a list has.
	defaultRows = 20
	mostRows    = 100
)

// maxRowID is the longest id that a row has whole: whoever creates jobs may choose theirs, and a hundred of
// them have to leave a list within what an answer may have.
const maxRowID = 300

// An instanceRow is an instance in a list.
type instanceRow struct {
	ID      string `json:"id"`
	Binding string `json:"binding"`
	Status  string `json:"status"`
	Steps   int    `json:"steps"`
	Updated string `json:"updated"`
	Note    string `json:"note,omitempty" jsonschema:"what it waits for, or what went wrong"`
}

func newInstanceRow(i admin.Summary) instanceRow {
	row := instanceRow{
		ID: i.ID, Binding: cut(i.Binding, 40), Status: string(i.Status), Steps: i.StepsDone,
		Updated: seconds(i.UpdatedAt), Note: cut(instanceNote(i), maxNote),
	}
	fit(&row, &row.Note)
	return row
}

func (r instanceRow) line() []string {
	return []string{r.ID, r.Status, r.Binding, r.Note}
}

// instanceNote says in a few words what an instance waits for, or why it does nothing.
func instanceNote(i admin.Summary) string {
	switch {
	case i.Stalled():
		return "stalled"
	case i.Error != nil:
		return i.Error.Message
	case i.PauseRequested != nil && i.Live():
		return "pause requested"
	case i.WaitingFor != nil:
		return waitNote(*i.WaitingFor)
	}
	return ""
}

func waitNote(w admin.Wait) string {
	switch w.Kind {
	case "event":
		return "event " + strings.Join(w.Types, " or ")
	case "pause":
		return ""
	}
	return w.Kind + " " + w.Name
}

// A jobRow is a job in a list.
type jobRow struct {
	ID      string `json:"id"`
	Status  string `json:"status"`
	Path    string `json:"path"`
	Retries int    `json:"retries"`
	Updated string `json:"updated,omitempty"`
	Note    string `json:"note,omitempty" jsonschema:"when it is due, or what keeps it"`
}

func newJobRow(j admin.JobSummary, now time.Time) jobRow {
	row := jobRow{ID: cut(j.ID, maxRowID), Status: string(j.Status), Path: cut(j.Path, 50), Retries: j.Retries, Note: cut(jobNote(j, now), maxNote)}
	if j.UpdatedAt != nil {
		row.Updated = seconds(*j.UpdatedAt)
	}
	fit(&row, &row.Note)
	return row
}

func (r jobRow) line() []string { return []string{r.ID, r.Status, r.Path, r.Note} }

// jobNote says in a few words what keeps a job.
func jobNote(j admin.JobSummary, now time.Time) string {
	switch {
	case j.Stalled:
		return "stalled"
	case j.CancelRequested != nil && !j.Status.Terminal():
		return "cancel requested"
	case j.RunAt != nil && j.RunAt.After(now):
		return "due " + seconds(*j.RunAt)
	}
	return ""
}

// fit shortens the note of a row until the row is short enough.
func fit(row any, note *string) {
	for over := size(row) - maxRow; over > 0 && *note != ""; over = size(row) - maxRow {
		*note = cut(*note, max(0, len(*note)-over))
	}
}

// seconds is a time as answers have it.
func seconds(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// size is how long a value is as JSON, as answers have it.
func size(v any) int {
	text, err := encode(v)
	if err != nil { // rows always encode
		return 0
	}
	return len(text)
}

// table is a list for clients that show only text: a line a row, words of others in quotes. A column
// that says the same in every row is said once.
func table(columns []string, rows [][]string, next string) string {
	var head []string
	same := make([]bool, len(columns))
	for i, name := range columns {
		if same[i] = i > 0 && len(rows) > 1 && uniform(rows, i); same[i] {
			name = "(" + name + " " + quoted(rows[0][i]) + ")"
		}
		head = append(head, name)
	}
	lines := []string{strings.Join(head, " ")}
	for _, row := range rows {
		var words []string
		for i, word := range row {
			if !same[i] && word != "" {
				words = append(words, quoted(word))
			}
		}
		lines = append(lines, strings.Join(words, " "))
	}
	if next != "" {
		lines = append(lines, "more: cursor "+quoted(next))
	}
	return strings.Join(lines, "\n")
}

// listed is a table of rows that know their words.
func listed[R interface{ line() []string }](head []string, all []R, next string) string {
	rows := make([][]string, len(all))
	for i, row := range all {
		rows[i] = row.line()
	}
	return table(head, rows, next)
}

// words are texts of a type of their own, as an enum takes them.
func words[T ~string](all []T) []string {
	texts := make([]string, len(all))
	for i, one := range all {
		texts[i] = string(one)
	}
	return texts
}

// uniform says whether a column is the same in every row.
func uniform(rows [][]string, column int) bool {
	return !slices.ContainsFunc(rows, func(row []string) bool { return row[column] != rows[0][column] })
}
