package dashboard

import (
	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/admin/api"
)

// auditView is the content of the audit.
type auditView struct {
	admin.AuditPage

	Query query
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
	content := auditView{AuditPage: page, Query: q, Wrong: wrong}
	if page.Next != "" {
		content.Next = q.With("cursor", page.Next)
	}
	return d.show(v, "audit", d.view(v, "audit", "Audit", content).watching(api.TopicAudit, ""))
}
