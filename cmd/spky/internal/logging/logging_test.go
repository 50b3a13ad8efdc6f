package logging

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"regexp"
	"strings"
	"testing"
)

func TestText(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := New(&out, Options{Omit: []string{"node"}})
	if err != nil {
		t.Fatal(err)
	}
	log = log.With("node", "n1", "table", "job")
	log.Debug("not shown")
	log.Info("two\nlines", "a", "b c")
	log.WithGroup("g").Warn("grouped", "node", "kept")
	log.Error("plain")
	want := regexp.MustCompile(`^\d\d:\d\d:\d\d\.\d{3} INFO  two\x{fffd}lines table=job a="b c"
\d\d:\d\d:\d\d\.\d{3} WARN  grouped table=job g\.node=kept
\d\d:\d\d:\d\d\.\d{3} ERROR plain table=job
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("got\n%s", out.String())
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := New(&out, Options{JSON: true, Directives: "warn"})
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not shown")
	log.Warn("shown", "n", 1)
	var line map[string]any
	if err := json.Unmarshal(out.Bytes(), &line); err != nil || line["msg"] != "shown" || line["n"] != float64(1) {
		t.Errorf("%v: got %s", err, out.String())
	}
}

func TestLevelsOfPackages(t *testing.T) {
	t.Parallel()
	for directives, want := range map[string]string{
		"info": "info", "warn,logging=debug": "debug info", "debug,logging=error": "", "off": "", "trace,other=off": "debug info",
	} {
		var out bytes.Buffer
		log, err := New(&out, Options{Directives: directives})
		if err != nil {
			t.Fatal(err)
		}
		log.Debug("debug")
		log.Info("info")
		var got []string
		for line := range strings.Lines(out.String()) {
			fields := strings.Fields(line)
			got = append(got, fields[len(fields)-1])
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: got %v, want %s", directives, got, want)
		}
	}
}

func TestBadDirectives(t *testing.T) {
	t.Parallel()
	if _, err := New(&bytes.Buffer{}, Options{Directives: "loud"}); err == nil {
		t.Error("a level that does not exist is taken")
	}
}

func TestConcurrentLoggersShareOneOutput(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log, err := New(&out, Options{})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	for _, name := range []string{"a", "b"} {
		own := log.With(slog.String("who", name))
		go func() {
			for range 100 {
				own.Info("x")
			}
			done <- struct{}{}
		}()
	}
	<-done
	<-done
	if got := strings.Count(out.String(), "\n"); got != 200 {
		t.Errorf("%d lines, want 200", got)
	}
}
