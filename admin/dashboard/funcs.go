package dashboard

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html/template"
	"math"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/wf"
)

// funcs are what templates call.
func (d *Dashboard) funcs() template.FuncMap {
	return template.FuncMap{
		"asset":       d.assets.address,
		"when":        when,
		"took":        took,
		"span":        span,
		"quantile":    quantile,
		"since":       sinceOf,
		"tone":        tone,
		"mark":        mark,
		"pretty":      pretty,
		"code":        code,
		"cut":         cut,
		"count":       count,
		"jobLink":     jobLink,
		"nodeLink":    func(node string) string { return prefix + "/nodes#" + mark("node", node) },
		"backendLink": func(name string) string { return prefix + "/nodes#" + mark("b", name) },
		"linkable":    func(id string) bool { return len(id) <= maxLink },
		"path":        url.PathEscape,
		"stepAddress": stepAddress,
		"dict":        dict,
		"percent":     func(part, whole int) int { return 100 * part / max(whole, 1) },
		"add":         func(a, b int) int { return a + b },
		"ms":          func(ms int64) string { return whole(time.Duration(ms) * time.Millisecond) },
	}
}

// jobLink is where a job is shown.
func jobLink(id string) string { return prefix + "/jobs/" + url.PathEscape(id) }

// code is a sentence with what stands between backquotes as code.
func code(text string) template.HTML {
	var b strings.Builder
	for i, part := range strings.Split(text, "`") {
		if part = template.HTMLEscapeString(part); i%2 == 1 {
			part = "<code>" + part + "</code>"
		}
		b.WriteString(part)
	}
	return template.HTML(b.String()) //nolint:gosec // all of the text is escaped
}

// maxLink is how long an id is at most that a link leads to.
const maxLink = 2000

// exact is how a time is shown exactly.
const exact = "2006-01-02 15:04:05.000 UTC"

// when is a moment as people say it, with the exact one on hover, that a script keeps true as time goes on.
func when(now time.Time, at any) template.HTML {
	var t time.Time
	switch at := at.(type) {
	case time.Time:
		t = at
	case *time.Time:
		if at != nil {
			t = *at
		}
	}
	if t.IsZero() {
		return "–"
	}
	t = t.UTC()
	return template.HTML(`<time datetime="` + t.Format("2006-01-02T15:04:05.000Z") + `" title="` + t.Format(exact) + `">` + relative(now, t) + `</time>`) //nolint:gosec // made of a time alone
}

// relative is a distance in time; the script says it in the same words.
func relative(now, at time.Time) string {
	d := now.Sub(at)
	switch {
	case d.Abs() < time.Second:
		return "now"
	case d < 0:
		return "in " + coarse(-d)
	}
	return coarse(d) + " ago"
}

// coarse is a duration of one unit.
func coarse(d time.Duration) string {
	s := int(d.Seconds())
	switch {
	case s < 60:
		return strconv.Itoa(s) + " s"
	case s < 3600:
		return strconv.Itoa(s/60) + " min"
	case s < 48*3600:
		return strconv.Itoa(s/3600) + " h"
	}
	return strconv.Itoa(s/86400) + " d"
}

// span is a duration with three digits or so.
func span(d time.Duration) string {
	switch {
	case d <= 0:
		return "0 ms"
	case d < 100*time.Microsecond:
		return "<0.1 ms"
	case d < 10*time.Millisecond:
		return strconv.FormatFloat(float64(d)/float64(time.Millisecond), 'f', 1, 64) + " ms"
	case d < time.Second:
		return strconv.FormatInt(d.Milliseconds(), 10) + " ms"
	case d < time.Minute:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s"
	case d < time.Hour:
		return fmt.Sprintf("%d min %02d s", int(d.Minutes()), int(d.Seconds())%60)
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %02d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d d %d h", int(d.Hours())/24, int(d.Hours())%24)
}

// whole is a span that somebody has chosen, which mostly is one of whole units.
func whole(d time.Duration) string {
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		if d > 0 && d < 48*time.Hour && d%unit.of == 0 {
			return fmt.Sprintf("%d %s", d/unit.of, unit.name)
		}
	}
	return span(d)
}

// took is how long something lasted that began at from, and has lasted until now where it has no end.
func took(now time.Time, from any, to *time.Time) string {
	var begun time.Time
	switch from := from.(type) {
	case time.Time:
		begun = from
	case *time.Time:
		if from == nil {
			return "–"
		}
		begun = *from
	}
	if to != nil {
		now = *to
	}
	return span(now.Sub(begun))
}

func sinceOf(now time.Time, at *time.Time) string {
	if at == nil {
		return "–"
	}
	return span(now.Sub(*at))
}

// tone is the colour of a state: quiet, busy, wait, good, bad, off. It is a class of the stylesheet, and never
// what a row says.
func tone(state any) string {
	switch fmt.Sprint(state) {
	case string(wf.Running), string(outbox.Processing), "begun", "dispatched":
		return "busy"
	case string(wf.Queued), string(outbox.Pending), string(wf.Waiting), "retrying", "mixed", "draining", "ready", admin.ScheduleRetiring:
		return "wait"
	case string(wf.Complete), string(outbox.Success), "alive", "closed", "active", "done":
		return "good"
	case string(wf.Errored), string(outbox.Failed), "dead", "open", "late", "stalled", admin.RunKilled:
		return "bad"
	}
	return "off"
}

// quantile writes one as what it is, an upper bound; there is none without attempts.
func quantile(ms float64, attempts int) string {
	if attempts == 0 {
		return "–"
	}
	return "≤ " + span(time.Duration(math.Ceil(ms))*time.Millisecond)
}

// mark is an id for an element, made of any text.
func mark(parts ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q", parts)))
	return "m" + hex.EncodeToString(sum[:8])
}

// maxShown is how much of a value a page shows, in bytes; the rest is a link away.
const maxShown = 16 << 10

// A value is JSON as a page shows it.
type value struct {
	Text string
	// Cut says that there is more of it, Size how much in all, in bytes.
	Cut   bool
	Size  string
	Empty bool
}

// pretty is JSON with line breaks, cut where it is long.
func pretty(raw json.RawMessage) value {
	if len(raw) == 0 || string(raw) == "null" {
		return value{Empty: true}
	}
	v := value{Size: bytesOf(len(raw))}
	text := raw
	if len(raw) <= 1<<20 {
		var out bytes.Buffer
		if json.Indent(&out, raw, "", "  ") == nil {
			text = out.Bytes()
		}
	}
	v.Text, v.Cut = string(text), len(text) > maxShown
	if v.Cut {
		v.Text = cut(maxShown, v.Text)
	}
	return v
}

// cut is a text of at most so many bytes.
func cut(most int, text string) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most] + "…"
}

func bytesOf(n int) string {
	switch {
	case n < 1<<10:
		return strconv.Itoa(n) + " B"
	case n < 1<<20:
		return strconv.Itoa(n>>10) + " KiB"
	}
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
}

// count is a number that was counted to a bound.
func count(n, most int) string {
	if n >= most {
		return strconv.Itoa(most) + "+"
	}
	return strconv.Itoa(n)
}

// dict makes one argument of several, for a template within a template.
func dict(pairs ...any) (map[string]any, error) {
	if len(pairs)%2 != 0 {
		return nil, fmt.Errorf("%d arguments are no pairs", len(pairs))
	}
	m := map[string]any{}
	for i := 0; i < len(pairs); i += 2 {
		name, ok := pairs[i].(string)
		if !ok {
			return nil, fmt.Errorf("argument %d is no name", i)
		}
		m[name] = pairs[i+1]
	}
	return m, nil
}
