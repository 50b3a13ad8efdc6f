package config_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

func TestSecretsDoNotShow(t *testing.T) {
	t.Parallel()
	type holder struct {
		Public  config.Secret
		private config.Secret
		byName  map[string]config.Secret
	}
	s := config.NewSecret("hunter2")
	h := holder{Public: s, private: s, byName: map[string]config.Secret{"k": s}}
	var texts []string
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
		texts = append(texts, fmt.Sprintf(verb, s), fmt.Sprintf(verb, &s), fmt.Sprintf(verb, h), fmt.Sprintf(verb, []any{h, &h}))
	}
	asJSON, err := json.Marshal(map[string]any{"s": s, "h": h, "m": h.byName})
	if err != nil {
		t.Fatal(err)
	}
	text, err := s.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	for _, handler := range []slog.Handler{slog.NewTextHandler(&log, nil), slog.NewJSONHandler(&log, nil)} {
		slog.New(handler).Info("m", "s", s, "h", h, slog.Group("g", "s", s))
	}
	for _, got := range append(texts, string(asJSON), string(text), log.String(), s.String(), s.GoString()) {
		if strings.Contains(got, "hunter2") || strings.Contains(got, fmt.Sprintf("%x", "hunter2")) {
			t.Errorf("the secret shows: %s", got)
		}
	}
	if fmt.Sprintln(s) != "***\n" || s.String() != "***" || string(text) != "***" || !strings.Contains(log.String(), "***") {
		t.Error("the secret is not masked")
	}
	if s.Reveal() != "hunter2" || s.IsZero() {
		t.Error("the secret is lost")
	}
	if empty := (config.Secret{}); !empty.IsZero() || empty.Reveal() != "" || empty.String() != "" || config.NewSecret("") != empty {
		t.Error("the empty secret is not empty")
	}
}
