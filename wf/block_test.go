package wf

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/devdb/devdbtest"
	"sp00ky.cloud/spky/surreal"
)

func blockDB(t *testing.T) *surreal.Client {
	t.Helper()
	target := devdbtest.Fresh(t)
	db, hangUp, err := surreal.Connect(t.Context(), surreal.Config{
		Endpoint: target.Endpoint, Namespace: target.Namespace,
		Database: target.Database, Username: target.User, Password: target.Password,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := hangUp(); err != nil {
			t.Error(err)
		}
	})
	if err := surreal.Exec(t.Context(), db, "DEFINE TABLE leak", nil); err != nil {
		t.Fatal(err)
	}
	return db
}

// TestBlocks says which blocks are refused.
func TestBlocks(t *testing.T) {
	t.Parallel()
	const escape = "}) ; COMMIT; (|| {"
	for name, c := range map[string]struct {
		block string
		legal bool
	}{
		"nothing":                          {"", true},
		"statements":                       {"LET $a = 1; UPDATE counter:one SET n += $a; RETURN $a", true},
		"nested":                           {"IF true { FOR $i IN [1, (2)] { CREATE x SET n = { a: [$i] } } }; RETURN (SELECT * FROM x)", true},
		"brackets in texts":                {`RETURN '}' + "})" + s'{' + r"a:b"`, true},
		"words in texts":                   {`CREATE x SET a = 'COMMIT', b = "BEGIN", c = 'it''s'`, true},
		"words within words":               {"RETURN $committed + beginning.cancelled(user)", true},
		"comments":                         {"-- COMMIT }\nRETURN 1 // } BEGIN\n# }\n/* } \n USE */", true},
		"a comment of another system":      {"-- one\r\n-- two }\r\nRETURN 1", true},
		"a comment at the end":             {"RETURN 1 # }", true},
		"an escaped quote":                 {`RETURN 'a\' }' + "\" }" + 'a\\'`, true},
		"a quoted name":                    {"SELECT `}` AS ⟨)}⟩ FROM x", true},
		"a division":                       {"RETURN 10 / 2", true},
		"a product and a difference":       {"RETURN 2 * 3 - 1 -- }", true},
		"COMMIT":                           {"CREATE x; COMMIT", false},
		"commit":                           {"CREATE x; commit;", false},
		"BEGIN":                            {"BEGIN; CREATE x", false},
		"CANCEL":                           {"CANCEL", false},
		"USE":                              {"USE DB other; CREATE x", false},
		"the way out":                      {escape, false},
		"a brace too many":                 {"RETURN 1 }", false},
		"a brace too few":                  {"{ RETURN 1", false},
		"braces the wrong way round":       {"} {", false},
		"an open text":                     {"RETURN 'a", false},
		"an open name":                     {"RETURN `a", false},
		"an open long name":                {"RETURN ⟨a", false},
		"an open comment":                  {"RETURN 1 /* a", false},
		"no escape in a long name":         {`RETURN ⟨a\⟩; ` + escape + ` -- ⟩`, false},
		"a comment that ends early":        {"RETURN 1 # \r" + escape, false},
		"a comment that ends early, U2028": {"RETURN 1 -- \u2028" + escape, false},
		"a comment that ends early, U2029": {"RETURN 1 // \u2029" + escape, false},
		"a comment that ends early, U0085": {"RETURN 1 # \u0085" + escape, false},
		"a comment in a comment":           {"RETURN 1 /* /* */ " + escape + " /* */", false},
		"a regular expression":             {"RETURN 'a' = /'/; " + escape + " -- '", false},
		"a long regular expression":        {"RETURN 'a' = /'\n/; " + escape + " -- '", false},
		"a division and an expression":     {"RETURN 1 / 2 = /'/", false},
		"a script":                         {"RETURN function() { # }\n }", false},
		"a script with other quotes":       {"RETURN function() { return `'${1}`; }", false},
	} {
		err := checkBlock(c.block, nil)
		if c.legal && err != nil || !c.legal && !errors.Is(err, ErrBlock) {
			t.Errorf("%s: %q gives %v", name, c.block, err)
		}
	}
	for _, name := range []string{"spky_op", "spky_result", "spky_held", "spky_"} {
		if err := checkBlock("RETURN 1", map[string]any{name: 1}); !errors.Is(err, ErrBlock) {
			t.Errorf("the variable %s gives %v", name, err)
		}
	}
}

// TestBlocksThatPassCannotEscape puts an escape from the transaction behind all that may hide it from
// the check, and runs what passes on the real database: in a transaction that throws at its end,
// nothing of it stays.
func TestBlocksThatPassCannotEscape(t *testing.T) {
	t.Parallel()
	db := blockDB(t)
	noise := []string{
		"'", `"`, "`", "⟨", "⟩", "#", "--", "//", "/*", "*/", "/", `\`, "\n", "\r", "\r\n", "\u2028", "\u2029", "\u0085", "\v", "\x00", " ", "a", "1", ";",
		"RETURN 1", "RETURN", "=", "+", "r'", `s"`, "d'", "u'", "b'", "f'", "{", "}", "(", ")", "[", "]", "<regex>", "function() {", "\\u{7d}", "%%", "|", "||", "⟨⟩", "“", "´",
	}
	escapes := []string{
		"\n})(); COMMIT; CREATE leak; BEGIN; LET $x = (|| {\n", "})(); COMMIT; CREATE leak; BEGIN; LET $x = (|| {", "; })(); CREATE leak; COMMIT; BEGIN; LET $x = (|| { RETURN 1", "}",
	}
	passed := 0
	rapid.Check(t, func(t *rapid.T) {
		for range 50 {
			soup := func(name string) string {
				return strings.Join(rapid.SliceOfN(rapid.SampledFrom(noise), 0, 6).Draw(t, name), "")
			}
			block := soup("before") + rapid.SampledFrom(escapes).Draw(t, "escape") + soup("after")
			if checkBlock(block, nil) == nil {
				passed++
				contained(t, db, block)
			}
		}
	})
	t.Logf("%d blocks passed", passed)
}

// contained runs a block in a transaction that is undone at its end.
func contained(t *rapid.T, db surreal.Querier, block string) {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	text := "BEGIN;\nLET $spky_held = true;\nLET $spky_result = (|| {\n" + block + "\n})();\nTHROW 'undone';\nCOMMIT;"
	if err := surreal.Exec(ctx, db, text, nil); err == nil {
		t.Fatalf("%q went past the end of the transaction", block)
	}
	rows, err := surreal.First[[]any](ctx, db, "SELECT * FROM leak", nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) > 0 {
		t.Fatalf("%q escaped", block)
	}
}
