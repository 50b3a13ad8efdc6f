package migrate

import (
	"slices"
	"strings"
	"testing"
)

func TestSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source string
		want   []string
	}{
		"nothing":      {" \n-- only a comment\n", nil},
		"two":          {"A 1; B 2", []string{"A 1", "B 2"}},
		"comments":     {"-- a;\nA /* ; */ 1; # b;\n// c;\nB", []string{"A /* ; */ 1", "B"}},
		"strings":      {"A 'x;\\';'; B \"y;\"; C `z;`; D ⟨;⟩", []string{"A 'x;\\';'", "B \"y;\"", "C `z;`", "D ⟨;⟩"}},
		"blocks":       {"A { B; C; }; D (E; F)", []string{"A { B; C; }", "D (E; F)"}},
		"open string":  {"A 'x; B", []string{"A 'x; B"}},
		"open comment": {"A; /* B;", []string{"A"}},
		"unicode":      {"DEFINE TABLE `größe`; Ü", []string{"DEFINE TABLE `größe`", "Ü"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, s := range split(c.source) {
				got = append(got, s.text)
			}
			if !slices.Equal(got, c.want) {
				t.Errorf("split(%q) = %q, want %q", c.source, got, c.want)
			}
		})
	}
}

func TestRepeatable(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"DEFINE TABLE a":                          "DEFINE TABLE OVERWRITE a",
		"define field\n x ON a":                   "define field OVERWRITE\n x ON a",
		"DEFINE TABLE IF NOT EXISTS a":            "DEFINE TABLE IF NOT EXISTS a",
		"DEFINE TABLE OVERWRITE a":                "DEFINE TABLE OVERWRITE a",
		"DEFINE /* odd */ TABLE -- end\n a":       "DEFINE /* odd */ TABLE OVERWRITE -- end\n a",
		"DEFINE FUNCTION fn::a() { DEFINE x; }":   "DEFINE FUNCTION OVERWRITE fn::a() { DEFINE x; }",
		"DEFINE SEQUENCE s":                       "DEFINE SEQUENCE IF NOT EXISTS s",
		"DEFINE DATABASE d":                       "DEFINE DATABASE IF NOT EXISTS d",
		"DEFINE PARAM $p VALUE 1":                 "DEFINE PARAM OVERWRITE $p VALUE 1",
		"CREATE a":                                "CREATE a",
		"UPDATE a SET text = 'DEFINE TABLE x; y'": "UPDATE a SET text = 'DEFINE TABLE x; y'",
	} {
		all := split(source)
		if len(all) != 1 {
			t.Errorf("%q is %d statements", source, len(all))
			continue
		}
		if got := repeatable(all[0]); got != want {
			t.Errorf("repeatable(%q) = %q, want %q", source, got, want)
		}
	}
}

func TestAccessName(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"DEFINE ACCESS account ON DATABASE TYPE RECORD":    "account",
		"DEFINE ACCESS OVERWRITE account ON DATABASE":      "account",
		"define access if not exists `my acc` ON DATABASE": "`my acc`",
		"DEFINE TABLE account":                             "",
		"DEFINE ACCESS":                                    "",
	} {
		if got := accessName(split(source)[0]); got != want {
			t.Errorf("accessName(%q) = %q, want %q", source, got, want)
		}
	}
}

func TestRequestKeepsLines(t *testing.T) {
	t.Parallel()
	const source = "-- first\nDEFINE TABLE a;\n\n\nDEFINE FIELD x\n ON a;\nCREATE a;"
	lines := strings.Split(request("NOTE", split(source), ""), "\n")
	for line, want := range map[int]string{2: "DEFINE TABLE OVERWRITE a", 5: "DEFINE FIELD OVERWRITE x", 7: "CREATE a"} {
		if !strings.Contains(lines[line-1], want) {
			t.Errorf("line %d is %q, want %q in it", line, lines[line-1], want)
		}
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"A; B", "DEFINE TABLE a; -- x", "'\\", "/*", "⟨a\\⟩;", "{;};"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, source string) {
		at := 0
		for _, s := range split(source) {
			i := strings.Index(source[at:], s.text)
			if i < 0 {
				t.Fatalf("statement %q is not in %q after byte %d", s.text, source, at)
			}
			at += i + len(s.text)
			if s.line < 1 || len(s.words) == 0 {
				t.Fatalf("statement %q has line %d and %d words", s.text, s.line, len(s.words))
			}
			_ = repeatable(s)
			_ = accessName(s)
		}
	})
}
