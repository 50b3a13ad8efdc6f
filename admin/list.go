package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// Limits of a list.
const (
	// DefaultPage is a page's length where nobody says another, MaxPage the longest.
	DefaultPage = 20
	MaxPage     = 1000
	// maxScan bounds the rows that one page looks through for those that fit its filters.
	maxScan = 20_000
	// scanPart is how many of them come at a time.
	scanPart = 1000
	// maxStalled bounds the stalled instances that are considered.
	maxStalled = 10_000
)

// ListOptions choose instances. Its zero value is all of them.
type ListOptions struct {
	// Binding, Status and Owner (a record id as text) narrow the list where they are not "".
	Binding string
	Status  wf.Status
	Owner   string
	// Stalled wants only live instances that nothing runs although something should.
	Stalled bool
	// Query wants instances whose id begins with it. They come by id, not newest first.
	Query string
	// Cursor is the Next of the page before.
	Cursor string
	// Limit is how many instances at most, up to MaxPage. Defaults to DefaultPage.
	Limit int
}

// A Page is a part of a list.
type Page struct {
	Instances []Summary `json:"instances"`
	// Next is the cursor of the page after it, "" after the last one. A page may be short and still have
	// a next one: no page looks through more than a bounded number of rows.
	Next string `json:"next,omitempty"`
}

// List answers with instances, newest first. It reads as many rows as the page has, times the states
// and workflows that it is made of, however many there are; with Owner or Stalled beside another filter
// it looks through all that the owner has, or that are stalled, and with Query through those with such
// an id.
func (d *Durable) List(ctx context.Context, o ListOptions) (Page, error) {
	q, err := newQuery(o)
	if err != nil {
		return Page{}, err
	}
	var found []place
	var next string
	switch {
	case o.Query != "":
		found, next, err = d.prefixed(ctx, q)
	case o.Stalled:
		found, next, err = d.stalled(ctx, q)
	case o.Owner != "":
		found, next, err = d.owned(ctx, q)
	default:
		found, next, err = d.byState(ctx, q)
	}
	if err != nil {
		return Page{}, fmt.Errorf("list instances: %w", err)
	}
	instances, err := d.summaries(ctx, found)
	if err != nil {
		return Page{}, fmt.Errorf("list instances: %w", err)
	}
	return Page{Instances: instances, Next: next}, nil
}

// A query is checked ListOptions.
type query struct {
	ListOptions
	owner surreal.RecordID
	after place
}

func newQuery(o ListOptions) (query, error) {
	q := query{ListOptions: o, after: place{Newest: math.MinInt64 + 1}}
	var err error
	switch {
	case o.Limit < 0 || o.Limit > MaxPage:
		return q, inputf("limit %d; allowed: 1 to %d", o.Limit, MaxPage)
	case o.Status != "" && !known(o.Status):
		return q, inputf("status %q; allowed: %s", o.Status, words(Statuses()))
	case o.Query != "" && !idPattern.MatchString(o.Query):
		return q, inputf("query %q is nothing that an id begins with; allowed: letters, digits, _ and -", o.Query)
	case o.Stalled && o.Status != "" && Terminal(o.Status):
		return q, inputf("an instance that is %s is never stalled", o.Status)
	}
	if q.Limit == 0 {
		q.Limit = DefaultPage
	}
	if o.Cursor != "" {
		if q.after, err = parseCursor(o.Cursor); err != nil {
			return q, err
		}
	}
	if o.Owner != "" {
		if q.owner, err = surreal.ParseID(o.Owner); err != nil {
			return q, inputf("owner %q: %v", o.Owner, err)
		}
	}
	return q, nil
}

// A place is where an instance stands in the order of lists. What it is filtered by comes with it.
type place struct {
	ID      surreal.RecordID  `json:"id"`
	Newest  int64             `json:"newest"`
	Binding string            `json:"binding"`
	Status  wf.Status         `json:"status"`
	Owner   *surreal.RecordID `json:"owner"`
	Stalled *time.Time        `json:"stalled_at"`
}

// compare orders places as the index does: the newest first, then by id.
func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.Newest, other.Newest), strings.Compare(key(p.ID), key(other.ID)))
}

func (p place) cursor() string { return strconv.FormatInt(-p.Newest, 36) + "." + key(p.ID) }

func parseCursor(text string) (place, error) {
	at, id, ok := strings.Cut(text, ".")
	micros, err := strconv.ParseInt(at, 36, 64)
	if !ok || err != nil || micros < 0 || !idPattern.MatchString(id) {
		return place{}, inputf("cursor %q is none that a list gave", text)
	}
	return place{Newest: -micros, ID: instanceID(id)}, nil
}

// page cuts what comes after the cursor to a page.
func (q query) page(all []place) ([]place, string) {
	slices.SortFunc(all, place.compare)
	all = slices.CompactFunc(all, func(a, b place) bool { return key(a.ID) == key(b.ID) })
	all = slices.DeleteFunc(all, func(p place) bool { return p.compare(q.after) <= 0 && q.Cursor != "" })
	if len(all) <= q.Limit {
		return all, ""
	}
	all = all[:q.Limit]
	return all, all[q.Limit-1].cursor()
}

// byState merges the newest of each state of each workflow, all in one statement and so as of one
// moment.
func (d *Durable) byState(ctx context.Context, q query) ([]place, string, error) {
	bindings, statuses := []string{q.Binding}, []wf.Status{q.Status}
	if q.Binding == "" {
		var err error
		if bindings, err = d.candidates(ctx); err != nil {
			return nil, "", err
		}
	}
	if q.Status == "" {
		statuses = Statuses()
	}
	vars := map[string]any{"newest": q.after.Newest, "limit": q.Limit + 1}
	var parts []string
	for _, binding := range bindings {
		for _, status := range statuses {
			n := strconv.Itoa(len(parts))
			vars["binding"+n], vars["status"+n] = binding, string(status)
			parts = append(parts, strings.ReplaceAll(statePart, "{{n}}", n))
			if q.Cursor != "" {
				parts = append(parts, strings.ReplaceAll(stateSamePart, "{{n}}", n))
			}
		}
	}
	all, err := d.together(ctx, parts, vars)
	if err != nil {
		return nil, "", err
	}
	found, next := q.page(all)
	return found, next, nil
}

// together runs several selects as one statement.
func (d *Durable) together(ctx context.Context, parts []string, vars map[string]any) ([]place, error) {
	if len(parts) == 0 {
		return nil, nil
	}
	lists, err := surreal.First[[][]place](ctx, d.db, "RETURN [\n("+strings.Join(parts, "),\n(")+")\n]", vars)
	return slices.Concat(lists...), err
}

// bindings are the workflows that have instances, found by skipping from one to the next.
func (d *Durable) bindings(ctx context.Context) ([]string, error) { return d.bindingsFrom(ctx, "") }

func (d *Durable) bindingsFrom(ctx context.Context, from string) ([]string, error) {
	var all []string
	for {
		found, err := surreal.First[[]string](ctx, d.db, bindingsStatement, map[string]any{"from": from})
		if err != nil {
			return nil, fmt.Errorf("look for workflows: %w", err)
		}
		if len(found) == 0 {
			return all, nil
		}
		if len(all) > 0 && found[0] <= all[len(all)-1] {
			return nil, errors.New("look for workflows: the database's index does not deliver them in order")
		}
		all = append(all, found[0])
		from = found[0] + "\x01" // what comes first after it and all its instances
	}
}

// A gap is a range of bindings in which none is known.
type gap struct{ from, to string }

// candidates are the workflows that may have instances: those of the configuration, and all others that
// have some. Only what lies between the known ones is looked for, which is nothing as a rule, and then
// costs nothing.
func (d *Durable) candidates(ctx context.Context) ([]string, error) {
	all := slices.Compact(d.Declared())
	var gaps []gap
	from := ""
	for _, binding := range all {
		gaps = append(gaps, gap{from, binding})
		from = binding + "\x01"
	}
	last, err := d.bindingsFrom(ctx, from)
	if err != nil {
		return nil, err
	}
	all = append(all, last...)
	for len(gaps) > 0 {
		var parts []string
		vars := map[string]any{}
		for i, g := range gaps {
			n := strconv.Itoa(i)
			vars["from"+n], vars["to"+n] = g.from, g.to
			parts = append(parts, "("+strings.ReplaceAll(bindingsBetweenPart, "{{n}}", n)+")")
		}
		found, err := surreal.First[[][]string](ctx, d.db, "RETURN [\n"+strings.Join(parts, ",\n")+"\n]", vars)
		if err != nil {
			return nil, fmt.Errorf("look for workflows: %w", err)
		}
		var rest []gap
		for i, list := range found {
			if len(list) > 0 {
				all = append(all, list[0])
				rest = append(rest, gap{list[0] + "\x01", gaps[i].to})
			}
		}
		gaps = rest
	}
	return all, nil
}

// owned looks through an owner's instances.
func (d *Durable) owned(ctx context.Context, q query) ([]place, string, error) {
	var found []place
	at, scanned := q.after, 0
	for {
		vars := map[string]any{"owner": q.owner, "newest": at.Newest, "limit": scanPart}
		part, err := surreal.First[[]place](ctx, d.db, ownerStatement, vars)
		if err != nil {
			return nil, "", err
		}
		last := len(part) < scanPart
		if at.ID.ID != nil {
			same, err := surreal.First[[]place](ctx, d.db, ownerSameStatement, vars)
			if err != nil {
				return nil, "", err
			}
			part = append(part, slices.DeleteFunc(same, func(p place) bool { return p.compare(at) <= 0 })...)
			slices.SortFunc(part, place.compare)
		}
		if len(part) > 0 {
			at = part[len(part)-1]
		}
		scanned += len(part)
		found = append(found, slices.DeleteFunc(part, func(p place) bool { return !q.fits(p) })...)
		switch {
		case len(found) > q.Limit || last:
			found, next := q.page(found)
			return found, next, nil
		case scanned >= maxScan:
			return found, at.cursor(), nil
		}
	}
}

// fits says whether a place passes the filters that no index has answered.
func (q query) fits(p place) bool {
	return (q.Binding == "" || p.Binding == q.Binding) && (q.Status == "" || p.Status == q.Status)
}

// mine says whether a place has the owner asked for.
func (q query) mine(p place) bool {
	return q.Owner == "" || p.Owner != nil && surreal.FormatID(*p.Owner) == surreal.FormatID(q.owner)
}

func (p place) stalled() bool {
	return p.Stalled != nil && !Terminal(p.Status) && p.Status != wf.Paused
}

// prefixed looks through the instances whose id begins with something.
func (d *Durable) prefixed(ctx context.Context, q query) ([]place, string, error) {
	from, to := q.Query, q.Query+"~" // which comes after all that ids are made of
	if q.Cursor != "" {
		from = max(from, key(q.after.ID)+"\x00") // what comes first after it
	}
	found := []place{}
	for scanned := 0; scanned < maxScan; scanned += scanPart {
		part, err := surreal.First[[]place](ctx, d.db, prefixStatement, map[string]any{"from": from, "to": to, "limit": scanPart})
		if err != nil {
			return nil, "", err
		}
		for _, p := range part {
			if !q.fits(p) || !q.mine(p) || q.Stalled && !p.stalled() {
				continue
			}
			if len(found) == q.Limit {
				return found, found[q.Limit-1].cursor(), nil
			}
			found = append(found, p)
		}
		if len(part) < scanPart {
			return found, "", nil
		}
		q.after = part[len(part)-1]
		from = key(q.after.ID) + "\x00"
	}
	return found, q.after.cursor(), nil
}

// stalled looks through the stalled instances.
func (d *Durable) stalled(ctx context.Context, q query) ([]place, string, error) {
	all, err := surreal.First[[]place](ctx, d.db, stalledStatement, map[string]any{"limit": maxStalled})
	if err != nil {
		return nil, "", err
	}
	all = slices.DeleteFunc(all, func(p place) bool { return !q.fits(p) || !q.mine(p) || !p.stalled() })
	found, next := q.page(all)
	return found, next, nil
}

// summaries reads the rows of a page, and keeps its order.
func (d *Durable) summaries(ctx context.Context, found []place) ([]Summary, error) {
	all := []Summary{}
	if len(found) == 0 {
		return all, nil
	}
	ids := make([]surreal.RecordID, len(found))
	for i, p := range found {
		ids[i] = p.ID
	}
	rows, err := surreal.First[[]summaryRow](ctx, d.db, summariesStatement, map[string]any{"ids": ids})
	if err != nil {
		return nil, err
	}
	byID := map[string]Summary{}
	for _, row := range rows {
		byID[key(row.ID)] = row.summary()
	}
	for _, p := range found {
		if s, ok := byID[key(p.ID)]; ok { // else it was deleted meanwhile
			all = append(all, s)
		}
	}
	return all, d.hider.summaries(ctx, all...)
}

// Newest is the id of the workflow's instance that was created last; ErrNotFound where it has none.
func (d *Durable) Newest(ctx context.Context, binding string) (string, error) {
	found, _, err := d.byState(ctx, query{ListOptions: ListOptions{Binding: binding, Limit: 1}, after: place{Newest: math.MinInt64 + 1}})
	switch {
	case err != nil:
		return "", fmt.Errorf("find the newest instance of %s: %w", binding, err)
	case len(found) == 0:
		return "", fmt.Errorf("find the newest instance of %s: %w: it has none", binding, ErrNotFound)
	}
	return key(found[0].ID), nil
}

// A Count is how many instances are in a state.
type Count struct {
	Status wf.Status `json:"status"`
	Count  int       `json:"count"`
	// More says that there are more than were counted.
	More bool `json:"more,omitempty"`
}

// maxCount is how far instances are counted.
const maxCount = 100_000

// Counts counts the instances of a workflow by their state, each to 100,000 at most.
func (d *Durable) Counts(ctx context.Context, binding string) ([]Count, error) {
	return d.CountsTo(ctx, binding, maxCount)
}

// CountsTo is Counts to another bound, for who asks often.
func (d *Durable) CountsTo(ctx context.Context, binding string, most int) ([]Count, error) {
	var all []Count
	for _, status := range Statuses() {
		vars := map[string]any{"binding": binding, "status": string(status), "most": most + 1}
		n, err := surreal.First[int](ctx, d.db, countStatement, vars)
		if err != nil {
			return nil, fmt.Errorf("count instances of %s: %w", binding, err)
		}
		all = append(all, Count{Status: status, Count: min(n, most), More: n > most})
	}
	return all, nil
}
