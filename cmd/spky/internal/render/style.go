package render

import "io"

// A Style colours text, or leaves it as it is. Its zero value is plain.
type Style struct{ on bool }

// StyleFor is the style that w takes.
func StyleFor(w io.Writer, env func(string) (string, bool)) Style {
	return Style{on: Colors(w, env)}
}

// Colored is a style that always colours.
func Colored(on bool) Style { return Style{on: on} }

// On says whether it colours.
func (s Style) On() bool { return s.on }

func (s Style) paint(code, text string) string {
	if !s.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

// Red is for what failed.
func (s Style) Red(text string) string { return s.paint("31", text) }

// Green is for what went well.
func (s Style) Green(text string) string { return s.paint("32", text) }

// Yellow is for what deserves a look.
func (s Style) Yellow(text string) string { return s.paint("33", text) }

// Cyan is for what is under way.
func (s Style) Cyan(text string) string { return s.paint("36", text) }

// Dim is for what may be overlooked.
func (s Style) Dim(text string) string { return s.paint("2", text) }

// Bold is for titles.
func (s Style) Bold(text string) string { return s.paint("1", text) }

// Cycle is the n-th of a few colours that tell things apart.
func (s Style) Cycle(n int, text string) string {
	codes := []string{"36", "35", "34", "33", "32"}
	return s.paint(codes[n%len(codes)], text)
}

// Status colours the state of a job, a node, an instance or a step.
func (s Style) Status(status string) string {
	switch status {
	case "success", "alive", "closed", "complete":
		return s.Green(status)
	case "failed", "dead", "open", "errored":
		return s.Red(status)
	case "cancelled", "draining", "terminated", "paused", "retrying":
		return s.Yellow(status)
	case "processing", "running":
		return s.Cyan(status)
	}
	return status
}
