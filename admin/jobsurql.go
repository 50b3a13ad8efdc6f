package admin

import (
	"embed"
	"strings"
)

//go:embed surql/job*.surql surql/live_job*.surql
var jobFiles embed.FS

// jobStatement reads an embedded statement; only a table's checked name, and the number of a part of a
// statement that is made of many, are put into its text.
func jobStatement(name, table, n string) string {
	text, err := jobFiles.ReadFile("surql/" + name + ".surql")
	if err != nil {
		panic(err) // embedded at build time
	}
	var lines []string
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(line, "--") { // parts of statements stand in parentheses, on one line or not
			lines = append(lines, line)
		}
	}
	return strings.NewReplacer("{{table}}", table, "{{n}}", n).Replace(strings.TrimSpace(strings.Join(lines, "")))
}
