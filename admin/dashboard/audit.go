package dashboard

import (
	"net/url"
	"strings"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// auditView is the content of the audit.
type auditView struct {
	Entries []auditRow
	Query   query
	// Wrong is what cannot be meant by the filters.
	Wrong string
	Next  string
}

func (d *Dashboard) audit(v *visit) error {
	q := queryOf(v, "actor", "action", "target", "cursor")
	page, err := d.cfg.Audit.List(v.ctx(), admin.AuditOptions{
		Actor: q.Get("actor"), Action: q.Get("action"), Target: q.Get("target"), Cursor: q.Get("cursor"), Limit: pageRows,
	})
	wrong, err := meant(err)
	if err != nil {
		return err
	}
	content := auditView{Query: q, Wrong: wrong}
	for _, e := range page.Entries {
		content.Entries = append(content.Entries, auditRow{e, targetAddress(e)})
	}
	if page.Next != "" {
		content.Next = q.With("cursor", page.Next)
	}
	return d.show(v, "audit", d.view(v, "audit", "Audit", content).watching(api.TopicAudit, ""))
}

// An auditRow is an entry and where its target is shown, "" where that is nowhere.
type auditRow struct {
	admin.AuditEntry

	Address string
}

// targetAddress is the page of what something was done to; "" where there is none, or there was none by that name. It may
// have been deleted since, which that page says.
func targetAddress(e admin.AuditEntry) string {
	kind, verb, _ := strings.Cut(e.Action, ".")
	if e.Target == "" || e.Outcome == "not found" || strings.HasSuffix(e.Target, "…") { // which is the beginning of one
		return ""
	}
	target := url.PathEscape(e.Target)
	switch kind {
	case "job":
		if verb == "clear" {
			return prefix + "/jobs?table=" + url.QueryEscape(e.Target)
		}
		return prefix + "/jobs/" + target
	case "instance":
		return prefix + "/instances/" + target
	case "schedule":
		return prefix + "/schedules/" + target
	case "dag":
		if verb == "trigger" {
			return prefix + "/dags/" + target
		}
		return runAddress(e.Target)
	}
	return ""
}
