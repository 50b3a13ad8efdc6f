package admin

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

const (
	// maxJobScan bounds the jobs that one page looks through for those that fit, jobScanPart is how many
	// come at a time at most, and jobScanTime how long it goes on.
	maxJobScan  = 5000
	jobScanPart = 1000
	jobScanTime = 30 * time.Millisecond
	// fewPending is how many pending jobs are few enough to be sorted here, once as many jobs have been
	// looked through in vain.
	fewPending = 1000
)

// JobListOptions choose jobs. Its zero value is all of them.
type JobListOptions struct {
	// Status, Table, Backend and Origin (see [Origins]) narrow the list where they are not "".
	Status         outbox.Status
	Table, Backend string
	Origin         string
	// Query wants a part of the path's first 2,049 characters or of the id, whatever its case. A job whose id, or its key, is just
	// this comes first, on a page of its own.
	Query string
	// Stalled wants only jobs whose lease has run out while they ran.
	Stalled bool
	// Cursor is the Next of the page before.
	Cursor string
	// Limit is how many jobs at most, up to MaxPage. Defaults to DefaultPage.
	Limit int
}

// A JobPage is a part of a list.
type JobPage struct {
	Jobs []JobSummary `json:"jobs"`
	// Next is the cursor of the page after it, "" after the last one. A page may be short, or empty, and
	// still have a next one: no page looks through more than a bounded number of rows.
	Next string `json:"next,omitempty"`
	// Now is the database's clock, by which all times are.
	Now time.Time `json:"now"`
}

// List answers with jobs of all tables, newest first. It reads as many rows as the page has, from each
// table, however many there are; with Origin, Query or Stalled, and with pending jobs of which there are
// many, it looks through a bounded number of the others.
func (j *Jobs) List(ctx context.Context, o JobListOptions) (JobPage, error) {
	q, err := j.query(o)
	if err != nil {
		return JobPage{}, err
	}
	now, err := surreal.First[time.Time](ctx, j.db, "RETURN time::now()", nil)
	if err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	q.now = now
	if q.after, err = j.resume(ctx, q); err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	found, next, err := j.find(ctx, q)
	if err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	jobs, err := j.summaries(ctx, found)
	if err != nil {
		return JobPage{}, fmt.Errorf("list jobs: %w", err)
	}
	return JobPage{Jobs: jobs, Next: next, Now: now}, nil
}

// A jobQuery is checked JobListOptions.
type jobQuery struct {
	JobListOptions
	tables []string
	exact  []surreal.RecordID // what Query may name
	after  jobPlace
	digest string // of the id after which it begins, where the cursor has not the id itself
	now    time.Time
}

func (j *Jobs) query(o JobListOptions) (jobQuery, error) {
	q := jobQuery{JobListOptions: o, after: top()}
	if err := o.check(); err != nil {
		return q, err
	}
	var err error
	if q.tables, err = j.chosen(o.Table, o.Backend); err != nil {
		return q, err
	}
	if q.Limit == 0 {
		q.Limit = DefaultPage
	}
	if o.Stalled {
		q.Status = outbox.Processing
	}
	q.Query = strings.ToLower(o.Query)
	if o.Query != "" {
		q.exact = exact(o.Query, q.tables)
	}
	if o.Cursor != "" {
		q.after, q.digest, err = parseJobCursor(o.Cursor, q.tables)
	}
	return q, err
}

// check refuses what can't be meant, whatever the tables are.
func (o JobListOptions) check() error {
	switch {
	case o.Limit < 0 || o.Limit > MaxPage:
		return inputf("limit %d; allowed: 1 to %d", o.Limit, MaxPage)
	case o.Status != "" && !slices.Contains(outbox.Statuses(), o.Status):
		return inputf("status %q; allowed: %s", o.Status, jobWords())
	case o.Origin != "" && !slices.Contains(Origins(), o.Origin):
		return inputf("origin %q; allowed: %s", o.Origin, strings.Join(Origins(), ", "))
	case o.Stalled && o.Status != "" && o.Status != outbox.Processing:
		return inputf("a job that is %s is never stalled", o.Status)
	case len(o.Query) > 500:
		return inputf("the query has %d bytes; allowed: 500", len(o.Query))
	}
	return nil
}

func jobWords() string {
	var all []string
	for _, s := range outbox.Statuses() {
		all = append(all, string(s))
	}
	return strings.Join(all, ", ")
}

// exact are the ids that a text may be: whole, or a key in any of the tables.
func exact(text string, tables []string) []surreal.RecordID {
	var ids []surreal.RecordID
	add := func(id surreal.RecordID) {
		if !slices.ContainsFunc(ids, func(one surreal.RecordID) bool { return surreal.FormatID(one) == surreal.FormatID(id) }) {
			ids = append(ids, id)
		}
	}
	for _, table := range tables {
		rest, whole := strings.CutPrefix(text, table+":")
		if id, err := surreal.ParseID(table + ":" + rest); err == nil {
			add(id)
		}
		if rest != "" { // job: alone names none
			add(surreal.RecordID{Table: table, ID: rest})
		}
		if whole {
			return ids
		}
	}
	return ids
}

// late is the place of jobs without a time of creation: after all others.
const late = math.MaxInt64

// A jobPlace is where a job stands in the order of lists, by which it can be told from others: by the
// time of its creation, then by table, then by id as the database orders ids. What it is filtered by
// comes with it, of a path only where the query has a text.
type jobPlace struct {
	ID         surreal.RecordID `json:"id"`
	Newest     int64            `json:"newest"`
	Status     any              `json:"status"`
	Path       any              `json:"path"`
	LeaseUntil any              `json:"lease_until"`
	// Durable is read only where the query asks where jobs come from.
	Durable bool `json:"durable"`
	// Beyond is set where all pending jobs are read: it has the cursor's moment, and comes after it in its table.
	Beyond bool `json:"beyond"`
}

// longID is the length from which an id is not in a cursor itself, so that no id that somebody chose makes
// a list end before it.
const longID = 300

func (p jobPlace) cursor() string {
	at, id := strconv.FormatInt(p.Newest, 36), surreal.FormatID(p.ID)
	if len(id) > longID {
		return at + "~" + p.ID.Table + "~" + digest(id)
	}
	return at + "." + base64.RawURLEncoding.EncodeToString([]byte(id))
}

func digest(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// topCursor is the cursor of the beginning, after what a query named exactly.
const topCursor = "top"

func parseJobCursor(text string, tables []string) (after jobPlace, digest string, err error) {
	if text == topCursor {
		return top(), "", nil
	}
	if parts := strings.Split(text, "~"); len(parts) == 3 {
		newest, err := strconv.ParseInt(parts[0], 36, 64)
		if err == nil && slices.Contains(tables, parts[1]) {
			return jobPlace{Newest: newest, ID: surreal.RecordID{Table: parts[1]}}, parts[2], nil
		}
	}
	at, rest, _ := strings.Cut(text, ".")
	newest, err := strconv.ParseInt(at, 36, 64)
	name, nameErr := base64.RawURLEncoding.DecodeString(rest)
	id, idErr := surreal.ParseID(string(name))
	if err != nil || nameErr != nil || idErr != nil || !slices.Contains(tables, id.Table) {
		return jobPlace{}, "", inputf("cursor %q is none that a list with these filters gave", short(text, 100))
	}
	return jobPlace{Newest: newest, ID: id}, "", nil
}

// top is the place before all jobs.
func top() jobPlace { return jobPlace{Newest: math.MinInt64 + 1} }

// fits says whether a job passes the filters that no index has answered.
func (q jobQuery) fits(p jobPlace) bool {
	path := textIn(p.Path)
	switch {
	case q.Status != "" && textIn(p.Status) != string(q.Status),
		q.Origin != "" && origin(p.Durable) != q.Origin:
		return false
	case q.Stalled:
		until := timeIn(p.LeaseUntil)
		if until == nil || until.After(q.now) {
			return false
		}
	}
	id := surreal.FormatID(p.ID)
	return q.Query == "" || !q.names(id) && (strings.Contains(strings.ToLower(path), q.Query) || strings.Contains(strings.ToLower(id), q.Query))
}

// names says whether an id is one that the query names: those come first, and not again.
func (q jobQuery) names(id string) bool {
	return slices.ContainsFunc(q.exact, func(one surreal.RecordID) bool { return surreal.FormatID(one) == id })
}
