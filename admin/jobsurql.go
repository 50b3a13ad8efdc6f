package admin

import (
	"embed"
	"strings"
)

//go:embed surql/job*.surql surql/live_job*.surql
var jobFiles embed.FS

// jobStatement reads an embedded statement; only a table's checked name, the number of a part of a
// statement that is made of many, and the columns and the condition that several share are put into its text.
func jobStatement(name, table, n string) string {
	text := jobText(name)
	for _, part := range []string{"columns", "place", "durable"} { // of which the second has the third
		if hole := "{{" + part + "}}"; strings.Contains(text, hole) {
			text = strings.ReplaceAll(text, hole, jobText("job_"+part))
		}
	}
	return strings.NewReplacer("{{table}}", table, "{{n}}", n).Replace(text)
}

// jobText is an embedded statement without its comments.
func jobText(name string) string {
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
	return strings.TrimSpace(strings.Join(lines, ""))
}
