package wf

import (
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// An example is a block of SurrealQL of docs/protocol.md and the answer that is shown below it.
type example struct {
	line        int
	surql, want string
}

// examples finds the blocks of a page that are marked as surql, each followed by one marked as json.
func examples(t *testing.T, page string) []example {
	t.Helper()
	var found []example
	lines := strings.Split(page, "\n")
	for n := 0; n < len(lines); n++ {
		mark, ok := strings.CutPrefix(lines[n], "```")
		if !ok {
			continue
		}
		begin := n + 1
		for n++; lines[n] != "```"; n++ {
		}
		text := strings.Join(lines[begin:n], "\n")
		switch {
		case mark == "surql":
			found = append(found, example{line: begin + 1, surql: text})
		case mark == "json" && len(found) > 0 && found[len(found)-1].want == "":
			found[len(found)-1].want = text
		}
	}
	return found
}

func page(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// TestProtocolPage executes the page's SurrealQL in its order and compares the answers.
func TestProtocolPage(t *testing.T) {
	t.Parallel()
	client := connectTwin(t)
	db := client.Retrying()
	// What the page takes for granted: a table, and the op of a statement block's step.
	for _, setUp := range []string{
		"DEFINE TABLE counter",
		"RETURN fn::spky::wf::create({ id: 'block', binding: 'B', params: NONE, owner: NONE, backend: NONE, job_table: 'job', version: NONE })",
		"RETURN fn::spky::wf::acquire('block', 'B', NONE, 'run', 15s)",
	} {
		if err := surreal.Exec(t.Context(), db, setUp, nil); err != nil {
			t.Fatalf("%s: %v", setUp, err)
		}
	}
	block := surreal.NewRecordID("_00_wf_instance", "block")
	op := map[string]any{"instance": block, "fence": 1, "ttl": surreal.Duration(15 * time.Second), "name": "count"}
	row := map[string]any{
		"id": surreal.NewRecordID("_00_wf_step", []any{"block", 0, "do", "count", 1}), "instance": block,
		"seq": 1, "kind": "do", "name": "count", "occurrence": 1, "status": "complete",
		"attempts": []any{}, "started_at": time.Now(), "finished_at": time.Now(),
	}
	found := examples(t, page(t, "../docs/protocol.md"))
	if len(found) < 25 {
		t.Fatalf("only %d examples were found", len(found))
	}
	for _, e := range found {
		job, err := surreal.First[[]string](t.Context(), db, "SELECT VALUE <string>job FROM _00_wf_instance:⟨ingest-7⟩", nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := surreal.Last[any](t.Context(), db, e.surql, map[string]any{"spky_op": op, "spky_row": row, "job": append(job, "")[0]})
		if err != nil {
			t.Fatalf("line %d: %v\n%s", e.line, err, e.surql)
		}
		if diff := e.compare(got); diff != "" {
			t.Errorf("line %d: %s", e.line, diff)
		}
	}
	namesColumns(t, db)
}

// namesColumns holds the page against the rows that its own examples have left.
func namesColumns(t *testing.T, db surreal.Querier) {
	t.Helper()
	text := page(t, "../docs/protocol.md")
	for _, table := range []string{"_00_wf_instance", "_00_wf_step"} { // events have all their columns defined
		rows, err := surreal.First[[]map[string]any](t.Context(), db, "SELECT * OMIT id FROM "+table, nil)
		if err != nil || len(rows) == 0 {
			t.Fatalf("%s: %d rows, %v", table, len(rows), err)
		}
		for _, row := range rows {
			for column := range row {
				if !strings.Contains(section(text, "### `"+table+"`"), "`"+column+"`") {
					t.Errorf("the page does not name column %s of %s", column, table)
				}
			}
		}
	}
}

func (e example) compare(got any) string {
	data, err := surreal.ToJSON(got)
	if err != nil {
		return err.Error()
	}
	var have, want any
	if err := json.Unmarshal([]byte(e.want), &want); err != nil {
		return fmt.Sprintf("the answer shown is no JSON: %v\n%s", err, e.want)
	}
	if err := json.Unmarshal(data, &have); err != nil {
		return err.Error()
	}
	if !fits(want, have) {
		return fmt.Sprintf("%s\nanswers  %s\nthe page shows %s", e.surql, data, e.want)
	}
	return ""
}

// fits compares an answer with what is shown, where … is anything and null is nothing.
func fits(want, have any) bool {
	switch w := want.(type) {
	case string:
		return w == "…" && have != nil || reflect.DeepEqual(want, have)
	case []any:
		h, ok := have.([]any)
		if !ok || len(h) != len(w) {
			return false
		}
		for i := range w {
			if !fits(w[i], h[i]) {
				return false
			}
		}
		return true
	case map[string]any:
		h, ok := have.(map[string]any)
		if !ok {
			return false
		}
		for key, value := range h {
			if value != nil && !fits(w[key], value) {
				return false
			}
		}
		for key, value := range w {
			if value != nil && h[key] == nil {
				return false
			}
		}
		return true
	}
	return reflect.DeepEqual(want, have)
}

// TestProtocolPageNamesEverything holds the page against the schema: each function with its
// parameters, and each column.
func TestProtocolPageNamesEverything(t *testing.T) {
	t.Parallel()
	text, ddl := page(t, "../docs/protocol.md"), schema.Statements()
	flat := strings.Join(strings.Fields(text), " ")
	functions := regexp.MustCompile(`DEFINE FUNCTION OVERWRITE (fn::spky::wf::\w+\(.*?\)) \{`).FindAllStringSubmatch(ddl, -1)
	if len(functions) < 20 {
		t.Errorf("only %d functions were found", len(functions))
	}
	for _, f := range functions {
		if !strings.Contains(flat, "`"+f[1]+"`") {
			t.Errorf("the page does not name %s", f[1])
		}
	}
	columns := regexp.MustCompile(`DEFINE FIELD OVERWRITE (\w+) +ON (_00_wf_\w+)`).FindAllStringSubmatch(ddl, -1)
	if len(columns) < 10 {
		t.Errorf("only %d columns were found", len(columns))
	}
	for _, c := range columns {
		if !strings.Contains(section(text, "### `"+c[2]+"`"), "`"+c[1]+"`") {
			t.Errorf("the page does not name column %s of %s", c[1], c[2])
		}
	}
}

// section is a page's text from a heading to the next of its level or above.
func section(text, heading string) string {
	_, rest, _ := strings.Cut(text, heading+"\n")
	before, _, _ := strings.Cut(rest, "\n##")
	return before
}
