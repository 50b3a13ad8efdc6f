package config_test

import (
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

// TestQueriesOfForEach has queries that the database takes and that write nothing, with columns that are named like
// statements, and others whose fault shows without a database.
func TestQueriesOfForEach(t *testing.T) {
	t.Parallel()
	for query, want := range map[string]string{
		"SELECT * FROM user":                            "",
		" select id from user where note = 'DELETE x' ": "",
		"SELECT `delete`, a.update, n AS create, array::insert(xs, 1) AS y, $insert FROM t ORDER BY delete": "",
		"SELECT { remove: 1, define: [a.alter] } AS x, ->upsert->y, (SELECT 1 FROM z) FROM t -- CREATE":     "",
		"SELECT * FROM user WHERE name = /[)'\"(]/":                                                         "",
		"SELECT 'it\\'s ) FORM', \"a ( b\" FROM t;":                                                         "",
		"SELECT * FORM user":                                      "without FROM",
		"SELECT (SELECT 1 FROM a)":                                "without FROM",
		"SELECTED FROM user":                                      "found \"SELECTED",
		"SELECT * FROM a; SELECT * FROM b":                        "2 statements",
		"-- nothing":                                              "0 statements",
		"SELECT * FROM (SELECT * FROM user":                       "found ( that",
		"SELECT * FROM user WHERE name = 'a":                      "found ' that",
		"SELECT [1) FROM user":                                    "found ) that",
		"SELECT * FROM (CREATE foo)":                              "\"CREATE\"",
		"SELECT * FROM CREATE foo":                                "\"CREATE\"",
		"SELECT *, { UPDATE foo SET a = 1; 1 } FROM t":            "\"UPDATE\"",
		"SELECT IF a THEN (delete foo:1) END FROM t":              "\"DELETE\"",
		"SELECT * FROM t WHERE (/* x */ Relate a:1->b->c:1) = []": "\"RELATE\"",
		"SELECT (INSERT INTO x {a: 1}), (UPSERT x), (DEFINE TABLE y), (REMOVE TABLE y), (ALTER TABLE y) FROM t": "\"INSERT\"",
		"SELECT (REBUILD INDEX a ON b) FROM t": "\"REBUILD\"",
	} {
		if got := config.QueryFault(query); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", query, got, want)
		}
	}
}
