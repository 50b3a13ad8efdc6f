package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"0": 0, "0s": 0, "250ms": 250 * time.Millisecond, "30s": 30 * time.Second, "5m": 5 * time.Minute,
		"1h30m": 90 * time.Minute, "14d": 14 * 24 * time.Hour, "2w1d": 15 * 24 * time.Hour, "106751d": 106751 * 24 * time.Hour,
	} {
		if got, err := ParseDuration(text); err != nil || got != want {
			t.Errorf("%q: got %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", " ", "1", "s", "1 s", "-1s", "1.5h", "1S", "1y", "1m30", "106752d", "99999999999999999999s", "9223372036854775807ms", "１s"} {
		if got, err := ParseDuration(text); err == nil {
			t.Errorf("%q: got %v", text, got)
		}
	}
}

func FuzzParseDuration(f *testing.F) {
	for _, text := range []string{"1h30m", "14d", "0", "9223372036854ms", "1 min"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := ParseDuration(text)
		if err != nil {
			return
		}
		if d < 0 {
			t.Errorf("%q: got %v", text, d)
		}
		if std, stdErr := time.ParseDuration(text); stdErr == nil && std != d {
			t.Errorf("%q: got %v, the standard library says %v", text, d, std)
		}
	})
}

func TestExpand(t *testing.T) {
	t.Parallel()
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "1", "EMPTY": "", "NESTED": "${A}"}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		"": "", "plain": "plain", "${A}": "1", "x${A}y${A}": "x1y1", "${EMPTY}": "", "${EMPTY:-d}": "d", "${A:-d}": "1", "${NO:-}": "", "${NO:-a:-b $x}": "a:-b $x",
		"$A": "$A", "$": "$", "a$$b": "a$$b", "$${A}": "${A}", "$$${A}": "$${A}", "${NESTED}": "${A}", "pa$$word": "pa$$word", "}": "}", "{A}": "{A}",
	} {
		if got, fault := expand(text, env); fault != nil || got != want {
			t.Errorf("%q: got %q, %v", text, got, fault)
		}
	}
	for _, text := range []string{"${NO}", "${", "${A", "${}", "${ A}", "${A-d}", "${A:?x}", "${1A}", "${A:-${B}}", "x ${A} ${NO}"} {
		if got, fault := expand(text, env); fault == nil || fault.remedy == "" {
			t.Errorf("%q: got %q", text, got)
		}
	}
}

func FuzzExpand(f *testing.F) {
	for _, text := range []string{"${A}", "$${A}", "${A:-b}${", "$$$", "${NO:-${A}}"} {
		f.Add(text, "value")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		got, fault := expand(text, func(string) (string, bool) { return value, true })
		if !strings.Contains(text, "${") && (fault != nil || got != text) {
			t.Errorf("%q without a reference became %q, %v", text, got, fault)
		}
		// A text in which every reference is hidden means itself.
		hidden := strings.ReplaceAll(text, "${", "$${")
		if strings.Contains(text, "$$") {
			return
		}
		if got, fault := expand(hidden, func(string) (string, bool) { return "", false }); fault != nil || got != text {
			t.Errorf("%q became %q, %v", hidden, got, fault)
		}
	})
}

func TestParseDotenv(t *testing.T) {
	t.Parallel()
	vars, bad := ParseDotenv([]byte("\ufeff# comment\r\n" + `
PLAIN=value with blanks  # comment
 SPACED = x
export EXPORTED=1
exported=2
EMPTY=
HASH=a#b
ONLY_COMMENT= # nothing
TAB=x	# comment
SINGLE='a "b" \n # c'  # comment
DOUBLE="a 'b' \n\t\"q\" \\ # c"
MANY="first
second"
EQUALS=a=b
URL=http://h/#x
no variable
1BAD=x
TAIL="x" y
OPEN="never closed
AFTER=still here
LAST=end`))
	want := map[string]string{
		"PLAIN": "value with blanks", "SPACED": "x", "EXPORTED": "1", "exported": "2", "EMPTY": "", "HASH": "a#b", "ONLY_COMMENT": "", "TAB": "x",
		"SINGLE": `a "b" \n # c`, "DOUBLE": "a 'b' \n\t\"q\" \\ # c", "MANY": "first\nsecond", "EQUALS": "a=b", "URL": "http://h/#x", "AFTER": "still here", "LAST": "end",
	}
	got := make(map[string]string)
	for _, v := range vars {
		got[v.Name] = v.Value.Reveal()
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %q", got)
	}
	if !reflect.DeepEqual(bad, []int{17, 18, 19, 20}) {
		t.Errorf("bad lines %v", bad)
	}
}

func FuzzParseDotenv(f *testing.F) {
	f.Add([]byte("A=1\nexport B='x\ny'\n#c\nC=\"\\\""))
	f.Fuzz(func(t *testing.T, content []byte) {
		vars, bad := ParseDotenv(content)
		if lines := strings.Count(string(content), "\n") + 1; len(vars)+len(bad) > lines {
			t.Errorf("%d variables and %d bad lines in %d lines", len(vars), len(bad), lines)
		}
		for _, v := range vars {
			if !variablePattern.MatchString(v.Name) {
				t.Errorf("name %q", v.Name)
			}
		}
	})
}

func TestCron(t *testing.T) {
	t.Parallel()
	for _, expr := range []string{"* * * * *", "*/5 * * * *", "0 0 1,15 * mon-fri", "0-59/2 23 31 DEC 7", "0 0 * * SUN", "30 0 0 ? * 1", "*/30 * * * * *"} {
		if fault := cronFault(expr); fault != "" {
			t.Errorf("%q: %s", expr, fault)
		}
	}
	for _, expr := range []string{"", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * 32 * *", "* * * 13 *", "* * * * 8", "*/0 * * * *", "5-1 * * * *", "a * * * *", "1, * * * *", "*/x * * * *", "-1 * * * *", "+1 * * * *", "? * * * *", "1-2-3 * * * *", "@daily", "1/2/3 * * * *"} {
		if fault := cronFault(expr); fault == "" {
			t.Errorf("%q passes", expr)
		}
	}
}

func TestStatements(t *testing.T) {
	t.Parallel()
	got := statements(`-- first; comment
DEFINE FIELD a ON t
    VALUE { LET $x = 1; RETURN 'a;b' }; # end
/* a
   comment; */ SELECT "x\"; y" FROM ` + "`t;`" + `; // last
;
RETURN 1`)
	want := []statement{
		{text: "DEFINE FIELD a ON t VALUE { LET $x = 1; RETURN 'a;b' }", line: 2},
		{text: "SELECT \"x\\\"; y\" FROM `t;`", line: 5},
		{text: "RETURN 1", line: 7},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func FuzzStatements(f *testing.F) {
	f.Add("a; 'b;' -- c;\n{ d; } /* e")
	f.Fuzz(func(t *testing.T, source string) {
		lines := strings.Count(source, "\n") + 1
		for _, s := range statements(source) {
			if s.text == "" || s.line < 1 || s.line > lines {
				t.Errorf("%+v", s)
			}
		}
	})
}

func TestNearest(t *testing.T) {
	t.Parallel()
	keys := []string{"baseUrl", "concurrency", "type", "env", "dev"}
	for word, want := range map[string]string{
		"baseURL": "baseUrl", "base_url": "baseUrl", "concurency": "concurrency", "tpye": "type", "enf": "env", "webhooks": "", "x": "", "": "", strings.Repeat("y", 1000): "",
	} {
		if got := nearest(word, keys); got != want {
			t.Errorf("%q: got %q, want %q", word, got, want)
		}
	}
}

func TestParseLogLevel(t *testing.T) {
	t.Parallel()
	level, targets, err := ParseLogLevel("warn, outbox=debug,ssp=trace")
	if err != nil || level != "warn" || !reflect.DeepEqual(targets, map[string]string{"outbox": "debug", "ssp": "trace"}) {
		t.Errorf("got %q %v %v", level, targets, err)
	}
	if level, _, err := ParseLogLevel("outbox=off"); err != nil || level != "info" {
		t.Errorf("got %q %v", level, err)
	}
	for _, text := range []string{"", ",", "info,", "INFO", "=debug", "outbox=", "outbox=loud", "a=b=info"} {
		if level, targets, err := ParseLogLevel(text); err == nil {
			t.Errorf("%q: got %q %v", text, level, targets)
		}
	}
}
