package main

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"html"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// ingestBinding is the workflow's name in sp00ky.yml.
const ingestBinding = "INGEST"

// batch is how many pages one step converts.
const batch = 10

// reviewPatience is how long a material waits for its review.
const reviewPatience = 24 * time.Hour

var (
	//go:embed surql/convert.surql
	convertStatement string
	//go:embed surql/publish.surql
	publishStatement string
)

// A material is what the workflow INGEST is started with. Its title and text are mandatory.
type material struct {
	// Name is what it is published under. Defaults to the title, simplified.
	Name  string `json:"name,omitempty"`
	Title string `json:"title"`
	Text  string `json:"text"`
	// PageWords are the most words of a page. Defaults to 10.
	PageWords int `json:"pageWords,omitempty"`
	// Owner is the user it is made for, "" for nobody.
	Owner string `json:"owner,omitempty"`
	// SettleSeconds is the pause before the review.
	SettleSeconds int `json:"settleSeconds,omitempty"`
	// Failures is how many attempts of each conversion fail on purpose.
	Failures int `json:"failures,omitempty"`
}

// counted is what the first step finds.
type counted struct {
	Pages int `json:"pages"`
	Words int `json:"words"`
	// Steps is how many steps the workflow will have, for who shows its progress.
	Steps int `json:"steps"`
}

// review is the payload of the event reviewed.
type review struct {
	OK   bool   `json:"ok"`
	Note string `json:"note"`
}

// published is what the workflow comes to.
type published struct {
	Material string `json:"material"`
	Pages    int    `json:"pages"`
	Words    int    `json:"words"`
	Edition  int    `json:"edition"`
	Note     string `json:"note,omitempty"`
}

// ingest is the workflow: it counts the pages of a text, converts them in batches of ten, lets things
// settle, waits for somebody to review the result, and publishes it. Whatever dies meanwhile, it goes on
// with the step that was not done.
func (s *store) ingest(ctx context.Context, ev wf.Event[material], step *wf.Step) (published, error) {
	m := ev.Payload.withDefaults()
	total, err := wf.Do(ctx, step, "count pages", func(context.Context) (counted, error) { return m.count() })
	if err != nil {
		return published{}, err
	}
	for first := 1; first <= total.Pages; first += batch {
		last := min(first+batch-1, total.Pages)
		_, err := wf.Do(ctx, step, fmt.Sprintf("convert pages %d to %d", first, last), func(ctx context.Context) (int, error) {
			if attempt := wf.Attempt(ctx); attempt <= m.Failures {
				return 0, fmt.Errorf("attempt %d fails on purpose; attempt %d will not", attempt, m.Failures+1)
			}
			return last - first + 1, s.convert(ctx, m, first, last)
		}, wf.Retry(3, 500*time.Millisecond, wf.Exponential), wf.Timeout(time.Minute))
		if err != nil {
			return published{}, err
		}
	}
	if err := step.Sleep(ctx, "let the index settle", time.Duration(m.SettleSeconds)*time.Second); err != nil {
		return published{}, err
	}
	got, err := wf.WaitForEvent[review](ctx, step, "review", "reviewed", wf.Timeout(reviewPatience))
	if err != nil {
		return published{}, err
	}
	if !got.Payload.OK {
		return published{}, wf.NonRetryable(errors.New("the review rejected it: " + got.Payload.Note))
	}
	return m.publish(ctx, step, total, got.Payload)
}

// withDefaults fills in what may be left out. It depends on nothing but the params: it runs whenever the
// workflow's code does.
func (m material) withDefaults() material {
	m.Name, m.PageWords = cmp.Or(m.Name, slug(m.Title)), cmp.Or(m.PageWords, defaultSheetWords)
	return m
}

// count splits the text. It is quick enough to be done again by the steps that need the pages.
func (m material) count() (counted, error) {
	ix := m.index()
	if m.Name == "" || m.PageWords < minPageWords || ix.words == 0 {
		return counted{}, wf.NonRetryable(fmt.Errorf("a material needs a title and a text with words, and pages of at least %d", minPageWords))
	}
	n := len(ix.pages)
	steps := 1 + (n+batch-1)/batch + 2 // this one, the conversions, the review, publishing
	if m.SettleSeconds > 0 {           // a sleep of no time is no step
		steps++
	}
	return counted{Pages: n, Words: ix.words, Steps: steps}, nil
}

func (m material) index() index {
	return newIndex(text{name: m.Name, title: m.Title, body: m.Text}, m.PageWords)
}

// ownerID is the record of the user whose material it is.
func (m material) ownerID() (*surreal.RecordID, error) {
	if m.Owner == "" {
		return nil, nil //nolint:nilnil // nobody is an owner too
	}
	id, err := surreal.ParseID(m.Owner)
	if err != nil {
		return nil, wf.NonRetryable(err) // it will be no better next time
	}
	return &id, nil
}

// convert writes some pages as HTML.
func (s *store) convert(ctx context.Context, m material, first, last int) error {
	owner, err := m.ownerID()
	if err != nil {
		return err
	}
	id := materialID(owner, m.Name)
	var sheets []map[string]any
	for i, p := range m.index().pages[first-1 : last] {
		number := first + i
		sheets = append(sheets, map[string]any{
			"id": below("sheet", id, number), "owner": orNone(owner), "material": id, "number": number, "html": toHTML(p.text),
		})
	}
	if err := surreal.Exec(ctx, s.client.Retrying(), convertStatement, map[string]any{"sheets": sheets}); err != nil {
		return fmt.Errorf("write the pages %d to %d of %s: %w", first, last, m.Name, err)
	}
	return nil
}

// toHTML keeps the lines of a page.
func toHTML(page string) string {
	return "<p>" + strings.ReplaceAll(html.EscapeString(page), "\n", "<br>\n") + "</p>"
}

// publish is the last step.
func (m material) publish(ctx context.Context, step *wf.Step, total counted, r review) (published, error) {
	owner, err := m.ownerID()
	if err != nil {
		return published{}, err
	}
	id := materialID(owner, m.Name)
	content := map[string]any{
		"id": id, "owner": orNone(owner), "name": m.Name, "title": m.Title, "pages": total.Pages, "words": total.Words, "note": surreal.None,
	}
	if r.Note != "" {
		content["note"] = r.Note
	}
	edition, err := wf.Query[int](ctx, step, "publish", publishStatement, map[string]any{"id": id, "content": content})
	if err != nil {
		return published{}, err
	}
	return published{Material: m.Name, Pages: total.Pages, Words: total.Words, Edition: edition, Note: r.Note}, nil
}
