package retention

import (
	"testing"

	"sp00ky.cloud/spky/config"
)

// TestTheAuditIsPrunedByAge has more old rows than one transaction deletes, and some that are not.
func TestTheAuditIsPrunedByAge(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.exec(`FOR $n IN 0..1200 {
		LET $at = time::now() - 401d - duration::from_secs($n);
		CREATE type::record('_00_audit', [-time::micros($at), rand::ulid()]) SET at = $at, actor = 'ann', via = 'cli', action = 'job.cancel', outcome = 'done' RETURN NONE;
	};
	FOR $n IN 0..3 {
		LET $at = time::now() - 399d;
		CREATE type::record('_00_audit', [-time::micros($at), rand::ulid()]) SET at = $at, actor = 'bob', via = 'cli', action = 'job.cancel', outcome = 'done' RETURN NONE;
	};`, nil)
	r.configure(config.Retention{})
	if n := r.pass(r.pruner("a")); n != 0 {
		t.Errorf("%d rows of an audit that is kept for ever are pruned", n)
	}
	r.configure(config.Retention{Audit: 400 * day})
	if n := r.pass(r.pruner("a")); n != 1200 {
		t.Errorf("%d rows are pruned, want 1200", n)
	}
	r.want("the audit", "SELECT VALUE actor FROM _00_audit", `["bob","bob","bob"]`)
}
