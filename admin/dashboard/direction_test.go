package dashboard

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

func TestStraight(t *testing.T) {
	t.Parallel()
	for page, want := range map[string]string{
		"<p>a\u202eb\u2066c</p>":                        `<p>a\u{202e}b\u{2066}c</p>`,
		"<a href=\"\u202e>'\" title='\">\u202e'>\u202d": "<a href=\"\u202e>'\" title='\">\u202e'>" + `\u{202d}`,
		"\u202a<br>\u2069":                              `\u{202a}<br>\u{2069}`,
		"<p>\u05d0\u200f\u200d</p>":                     "<p>\u05d0\u200f\u200d</p>",
		"\u2065\u202f\xff<p>\u202c":                     "\u2065\u202f\xff<p>" + `\u{202c}`,
	} {
		if got := string(straight([]byte(page))); got != want {
			t.Errorf("%q is shown as %q, want %q", page, got, want)
		}
	}
}

// TestNamesReadAsTheyAre looks at every page of rows whose names turn the direction of writing.
func TestNamesReadAsTheyAre(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	pages := r.plant()
	r.exec("CREATE type::record('job', $id) SET path = $id RETURN NONE", map[string]any{"id": "a\u202egnp.exe"})
	id := "job:`a\u202egnp.exe`"
	c, marked := r.client(fullSecret), 0
	for _, path := range append(pages, "/admin/jobs/"+url.PathEscape(id)) {
		answer := c.get(path)
		marked += strings.Count(answer.text, `\u{202e}`)
		for _, part := range strings.Split(answer.text, ">") {
			if text, _, _ := strings.Cut(part, "<"); answer.status != http.StatusOK || strings.ContainsFunc(text, turns) {
				t.Errorf("%s: %d, %q", path, answer.status, text)
			}
		}
	}
	if list := c.get("/admin/jobs").text; marked < 20 || !strings.Contains(list, "value=\""+id) {
		t.Errorf("%d are marked; a form does not send what a job is called: %s", marked, list)
	}
}
