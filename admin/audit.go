package admin

import (
	"context"
	_ "embed"
	"encoding/base64"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// Audit is who did what: one row for each mutation that [Jobs], [Durable] and [Tokens] made, were
// refused, or failed at. They write it themselves, in the transaction of what it is about; only that of
// Jobs.Clear, which deletes in parts, is written before them and completed after them.
type Audit struct{ db *surreal.Client }

// NewAudit makes it; nothing is sent.
func NewAudit(db *surreal.Client) *Audit { return &Audit{db: db} }

// An AuditEntry is one row.
type AuditEntry struct {
	At    time.Time `json:"at"`
	Actor string    `json:"actor"`
	// Via is cli, api, mcp or dashboard.
	Via string `json:"via"`
	// Action is for instance job.cancel or instance.pause, Target what it was done to.
	Action string `json:"action"`
	Target string `json:"target,omitempty"`
	// Outcome is done, not found, refused: and why, or failed; begun is a Clear under way, or one whose
	// process died.
	Outcome string `json:"outcome"`
	Detail  string `json:"detail,omitempty"`
}

// Record writes a row for what no operation of this package does, such as a refused login. The actor is
// that of the context.
func (a *Audit) Record(ctx context.Context, action, target, outcome, detail string) error {
	e := entry(ctx, action, target)
	if detail != "" {
		e["detail"] = short(detail, maxDetail)
	}
	vars := map[string]any{"audit": e, "outcome": short(outcome, maxName)}
	if err := surreal.Exec(ctx, a.db.Retrying(), "RETURN fn::spky::audit::write($audit, $audit.target, $outcome)", vars); err != nil {
		return fmt.Errorf("write audit: %w", err)
	}
	return nil
}

// AuditOptions choose rows. Its zero value is all of them.
type AuditOptions struct {
	// Actor, Action and Target narrow the list where they are not ""; an Action such as job. is all that
	// begin with it.
	Actor, Action, Target string
	// Cursor is the Next of the page before.
	Cursor string
	// Limit is how many rows at most, up to MaxPage. Defaults to DefaultPage.
	Limit int
}

// An AuditPage is a part of the audit.
type AuditPage struct {
	Entries []AuditEntry `json:"entries"`
	// Next is the cursor of the page after it, "" after the last one. A page may be short and still have
	// a next one.
	Next string `json:"next,omitempty"`
}

//go:embed surql/audit.surql
var auditStatement string

type auditRow struct {
	AuditEntry

	ID surreal.RecordID `json:"id"`
}

// List answers with rows, newest first. Filters look through 20,000 rows at most for one page.
func (a *Audit) List(ctx context.Context, o AuditOptions) (AuditPage, error) {
	page := AuditPage{Entries: []AuditEntry{}}
	if o.Limit < 0 || o.Limit > MaxPage {
		return page, inputf("limit %d; allowed: 1 to %d", o.Limit, MaxPage)
	}
	if o.Limit == 0 {
		o.Limit = DefaultPage
	}
	newest, id, err := parseAuditCursor(o.Cursor)
	if err != nil {
		return page, err
	}
	size := o.Limit + 1
	if o.Actor != "" || o.Action != "" || o.Target != "" {
		size = scanPart
	}
	for scanned := 0; scanned < maxScan; {
		rows, err := surreal.First[[]auditRow](ctx, a.db, auditStatement, map[string]any{"newest": newest, "id": id, "limit": size})
		if err != nil {
			return page, fmt.Errorf("list audit: %w", err)
		}
		for _, row := range rows {
			if len(page.Entries) == o.Limit {
				return page, nil
			}
			newest, id = auditKey(row.ID)
			page.Next = auditCursor(newest, id)
			if o.fits(row.AuditEntry) {
				page.Entries = append(page.Entries, row.AuditEntry)
			}
		}
		if len(rows) < size {
			page.Next = ""
			return page, nil
		}
		scanned += len(rows)
	}
	return page, nil
}

func (o AuditOptions) fits(e AuditEntry) bool {
	return (o.Actor == "" || e.Actor == o.Actor) && (o.Target == "" || e.Target == o.Target) &&
		(o.Action == "" || e.Action == o.Action || strings.HasSuffix(o.Action, ".") && strings.HasPrefix(e.Action, o.Action))
}

// auditKey reads a row's id: [negated microseconds, ulid].
func auditKey(id surreal.RecordID) (int64, string) {
	parts, ok := id.ID.([]any)
	if !ok || len(parts) != 2 {
		return 0, ""
	}
	at, _ := parts[0].(int64)
	name, _ := parts[1].(string)
	return at, name
}

func auditCursor(newest int64, id string) string {
	return strconv.FormatInt(newest, 36) + "." + base64.RawURLEncoding.EncodeToString([]byte(id))
}

func parseAuditCursor(text string) (int64, string, error) {
	if text == "" {
		return math.MinInt64 + 1, "", nil
	}
	at, rest, whole := strings.Cut(text, ".")
	newest, err := strconv.ParseInt(at, 36, 64)
	id, idErr := base64.RawURLEncoding.DecodeString(rest)
	if !whole || err != nil || idErr != nil || len(id) > 100 || strings.ToValidUTF8(string(id), "") != string(id) {
		return 0, "", inputf("cursor %q is none that a list gave", text)
	}
	return newest, string(id), nil
}
