//go:build unix

package dev

import (
	"os"
	"path/filepath"
	"testing"
)

func TestIsModern(t *testing.T) {
	t.Parallel()
	for words, want := range map[string]bool{
		"3.0.2 for linux on x86_64": true, "surreal 2.3.7 for linux": false, "1.5.6": false, "4.0.0": true, "something": true,
	} {
		path := filepath.Join(t.TempDir(), "surreal")
		if err := os.WriteFile(path, []byte("#!/bin/sh\necho '"+words+"'\n"), 0o755); err != nil {
			t.Fatal(err)
		}
		if got := testSession(t).isModern(t.Context(), path); got != want {
			t.Errorf("%s is modern: %t, want %t", words, got, want)
		}
	}
	if !testSession(t).isModern(t.Context(), "/nowhere/surreal") {
		t.Error("a program that does not tell its version is refused")
	}
}
