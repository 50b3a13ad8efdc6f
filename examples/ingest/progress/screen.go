package main

import (
	"fmt"
	"io"
	"strings"
)

// width is how many characters a bar has.
const width = 30

// A screen shows lines, the last of which may move.
type screen struct {
	out    io.Writer
	redraw bool
	last   string
	told   bool
}

// say writes a line that stays.
func (s *screen) say(line string) {
	s.end()
	fmt.Fprintln(s.out, line)
}

// end leaves the moving line as it is.
func (s *screen) end() {
	if s.redraw && s.last != "" {
		fmt.Fprintln(s.out)
	}
	s.last = ""
}

// draw shows an instance of so many steps, 0 where that is not known yet.
func (s *screen) draw(i instance, steps int) {
	line := fmt.Sprintf("%s %s  %s", bar(i, steps), share(i, steps), does(i))
	if line == s.last {
		return
	}
	if s.redraw {
		fmt.Fprintf(s.out, "\r\x1b[K%s", line)
	} else {
		fmt.Fprintln(s.out, line)
	}
	s.last = line
	if i.Status == "waiting" && i.WaitingFor != nil && i.WaitingFor.Kind == "event" && !s.told {
		s.told = true
		s.say(fmt.Sprintf("somebody has to review it: spky workflows instances send-event INGEST %v --type reviewed --payload '{\"ok\": true}'", i.ID.ID))
	}
}

func bar(i instance, steps int) string {
	full := 0
	switch {
	case i.Status == "complete":
		full = width
	case steps > 0:
		full = min(width*i.StepsDone/steps, width-1)
	}
	return strings.Repeat("█", full) + strings.Repeat("░", width-full)
}

func share(i instance, steps int) string {
	if steps == 0 {
		return fmt.Sprintf("%d steps done", i.StepsDone)
	}
	return fmt.Sprintf("%d of %d steps", i.StepsDone, steps)
}

// does says what an instance does.
func does(i instance) string {
	text := i.Status
	switch {
	case i.Status == "waiting" && i.WaitingFor != nil:
		text += " for " + i.WaitingFor.Kind
		if len(i.WaitingFor.Types) > 0 {
			text += " " + strings.Join(i.WaitingFor.Types, " or ")
		}
		text += " (" + i.WaitingFor.Name + ")"
		if i.WakeAt != nil {
			text += ", until " + i.WakeAt.Local().Format("2006-01-02 15:04:05")
		}
	case !i.over() && i.CurrentStep != "":
		text += ": " + i.CurrentStep
	}
	return text
}
