package world

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Breakdowns are lines in the processes' logs that no program in good health writes.
func (w *World) Breakdowns() []string {
	var found []string
	for name := range w.processes {
		text, err := os.ReadFile(filepath.Join(w.Dir, "log", name+".log"))
		if err != nil {
			found = append(found, fmt.Sprintf("the log of %s can't be read: %v", name, err))
			continue
		}
		for line := range strings.Lines(string(text)) {
			for _, sign := range []string{"WARNING: DATA RACE", "panic:", "fatal error:", "panic in an attempt", "unhandledRejection", "ERR_UNHANDLED"} {
				if strings.Contains(line, sign) {
					found = append(found, fmt.Sprintf("%s: %.500s", name, strings.TrimSpace(line)))
				}
			}
		}
	}
	return found
}
