package render

import (
	"bytes"
	"testing"
	"time"
)

func TestAge(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for d, want := range map[time.Duration]string{
		0: "0ms ago", 850 * time.Millisecond: "850ms ago", 4200 * time.Millisecond: "4.2s ago", 42 * time.Second: "42s ago",
		200 * time.Second: "3m20s ago", 45 * time.Minute: "45m ago", 5 * time.Hour: "5h ago", 49 * time.Hour: "2d ago",
		-5 * time.Second: "in 5.0s", -2 * time.Hour: "in 2h",
	} {
		if got := Age(now.Add(-d), now); got != want {
			t.Errorf("age of %s is %q, want %q", d, got, want)
		}
	}
	if got := Age(time.Time{}, now); got != "-" {
		t.Errorf("age of no moment is %q", got)
	}
	if got := Span(-time.Second); got != "-1.0s" {
		t.Errorf("a negative span is %q", got)
	}
}

func TestTable(t *testing.T) {
	t.Parallel()
	table := NewTable("ID", "STATUS")
	table.Paint(1, Colored(true).Status)
	table.Add("größe", "failed")
	table.Add("x\x1b[2Jy", "odd")
	var plain, colored bytes.Buffer
	if err := table.Write(&colored, Colored(true)); err != nil {
		t.Fatal(err)
	}
	table.Paint(1, Colored(false).Status)
	if err := table.Write(&plain, Style{}); err != nil {
		t.Fatal(err)
	}
	if want := "ID      STATUS\ngröße   failed\nx\ufffd[2Jy  odd\n"; plain.String() != want {
		t.Errorf("got\n%s\nwant\n%s", plain.String(), want)
	}
	if want := "\x1b[2mID\x1b[0m      \x1b[2mSTATUS\x1b[0m\ngröße   \x1b[31mfailed\x1b[0m\nx\ufffd[2Jy  odd\n"; colored.String() != want {
		t.Errorf("got %q, want %q", colored.String(), want)
	}
}

func TestPrintable(t *testing.T) {
	t.Parallel()
	if got := Printable("a\nb\x1b\u202e\u2028ü"); got != "a\ufffdb\ufffd\ufffd\ufffdü" {
		t.Errorf("got %q", got)
	}
}

func TestCut(t *testing.T) {
	t.Parallel()
	if got := Cut("äöüß", 4); got != "äöüß" {
		t.Errorf("got %q", got)
	}
	if got := Cut("äöüßx", 4); got != "äöü…" {
		t.Errorf("got %q", got)
	}
}

func TestColors(t *testing.T) {
	t.Parallel()
	none := func(string) (string, bool) { return "", false }
	if Colors(&bytes.Buffer{}, none) {
		t.Error("a buffer takes colours")
	}
}
