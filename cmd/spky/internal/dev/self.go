package dev

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Self is how the user called this program: its name, or the `go run …` that
// built it. viaGo says which.
func Self() (command string, viaGo bool) {
	name := filepath.Base(os.Args[0])
	if args := parentArgs(); len(args) > 2 && strings.TrimSuffix(filepath.Base(args[0]), ".exe") == "go" && args[1] == "run" {
		// What follows the package are this program's own arguments.
		own := len(os.Args) - 1
		if own < len(args)-2 {
			return "go " + strings.Join(args[1:len(args)-own], " "), true
		}
	}
	if exe, err := os.Executable(); err == nil && strings.Contains(filepath.ToSlash(exe), "/go-build") {
		return "go run ./cmd/spky", true
	}
	if strings.ContainsRune(os.Args[0], filepath.Separator) {
		return os.Args[0], false
	}
	return name, false
}

// parentArgs is the command line of the process that started this one, nil where
// the system does not tell.
func parentArgs() []string {
	content, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", os.Getppid()))
	if err != nil || len(content) == 0 {
		return nil
	}
	var args []string
	for arg := range bytes.SplitSeq(bytes.TrimSuffix(content, []byte{0}), []byte{0}) {
		args = append(args, string(arg))
	}
	return args
}
