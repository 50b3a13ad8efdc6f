package schedule

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"sp00ky.cloud/spky/config"
)

// FuzzClock has any text as a cron expression, in zones whose clocks are changed and in one where they are
// not: whatever the configuration allows has a clock that ticks, ticks only go forward, and each is where the
// expression says, but for those that a change of the clocks has moved.
func FuzzClock(f *testing.F) {
	for _, expr := range []string{
		"* * * * *", "0 3 * * *", "*/15 2 * * *", "30 2 29 2 *", "0 0 31 2 *", "0 0 31 apr,jun/3 *", "0 0 30-31 2 1-5", "0 0 31 2 */2", "0 0 30,*/2 2 *", "0 0 31/5 sep-nov/2 ?", "0 9 * * fri-7", "0 9 * * 5-7/2", "1 2 3 4 5 6", "0 0 0 0 0",
		"59 59 23 31 dec 7", "0-59/59 * * * * *", "* * * * 7-7", "? ? ? ? ?", "@daily", "TZ=UTC * * * * *", "*/0 * * * *", "1-7/0 * * * 1-7/0",
		"0 0 * * x-7", "0 0 ? * ?", "99999999999999999999 * * * *", "0 0 1,15 * 1", "5,5,5 * * * *", "0 0 ? * 1", "0 0 1 * */2", "-1 * * * *", "0 0 1 1 00000000000000000007,0", "0 0 1-31 */12 *",
	} {
		f.Add(expr, int64(1_774_000_000), uint8(0))
	}
	zones := []string{"UTC", "America/New_York", "Australia/Lord_Howe", "Europe/Berlin"}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, expr string, unix int64, n uint8) {
		zone := zones[int(n)%len(zones)]
		clock, err := NewClock(expr, 0, zone)
		if err != nil {
			if allowed(t, dir, expr) {
				t.Fatalf("the configuration allows %q: %v", expr, err)
			}
			return
		}
		now := time.Unix(unix%(1<<32), 0)
		for range 5 {
			next := clock.Next(now, now)
			if next.IsZero() { // such as the 31st of February; in 2096 the next 29th is too far away
				if now.Year() < 2090 && allowed(t, dir, expr) {
					t.Fatalf("the configuration allows %q, which never comes", expr)
				}
				return
			}
			if now.Year() < 2090 && strings.Contains(refusedFor(t, dir, expr), "never comes") {
				t.Fatalf("the configuration says that %q never comes, and it does at %s", expr, next)
			}
			if !next.After(now) || next.Location() != time.UTC {
				t.Fatalf("%q in %s: %s follows %s", expr, zone, next, now)
			}
			if again := clock.Next(now, next.Add(-1)); !again.Equal(next) {
				t.Fatalf("%q in %s: %s follows %s, but right before it %s does", expr, zone, next, now, again)
			}
			now = next
		}
	})
}

// allowed is whether a sp00ky.yml may have the expression.
func allowed(t *testing.T, dir, expr string) bool {
	t.Helper()
	return refusedFor(t, dir, expr) == ""
}

// refusedFor is why a sp00ky.yml may not have the expression, "" where it may.
func refusedFor(t *testing.T, dir, expr string) string {
	t.Helper()
	if !utf8.ValidString(expr) || strings.ContainsFunc(expr, func(r rune) bool { return !strconv.IsPrint(r) }) {
		return "it would be another one in YAML"
	}
	file := filepath.Join(dir, "sp00ky.yml")
	text := fmt.Sprintf("apps:\n  a: {type: backend, baseUrl: http://127.0.0.1:1, method: {table: job, allowAnyPath: true}}\nschedules:\n  s: {cron: %q, backend: a, path: /x}\n", expr)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, finding := range config.Lint("", config.Options{Path: file}).Errors {
		if strings.Contains(finding.String(), "cron") {
			return finding.String()
		}
	}
	return ""
}
