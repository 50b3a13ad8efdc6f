package durable

import (
	"context"
	"net/url"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// Pass lets the time pass after a process has died over a request: its run's lease ends now, and once the job is pending
// again, its pause does. header is the request's Spky-Job-Id. The test's end waits for it.
func (b *Base) Pass(header string) {
	text, err := url.PathUnescape(header)
	if err != nil {
		b.T.Errorf("the job's id is %q: %v", header, err)
	}
	id, err := surreal.ParseID(text)
	if err != nil {
		b.T.Errorf("the job's id is %q: %v", text, err)
		return
	}
	vars, db := map[string]any{"job": id}, b.DB.Retrying()
	ctx, cancel := context.WithTimeout(b.T.Context(), Patience)
	err = surreal.Exec(ctx, db, "UPDATE _00_wf_instance SET lease_until = time::now() - 1s WHERE lease_token != NONE AND job = $job RETURN NONE", vars)
	if err != nil && ctx.Err() == nil {
		b.T.Errorf("end the lease of a dead run: %v", err)
	}
	b.Afterlife.Go(func() {
		defer cancel()
		hasten(ctx, db, vars)
	})
}

// hasten makes a job due as soon as it is pending, unless it ends before.
func hasten(ctx context.Context, db surreal.Querier, vars map[string]any) {
	ticker := time.NewTicker(5 * time.Millisecond)
	defer ticker.Stop()
	for ctx.Err() == nil {
		state, err := surreal.First[[]string](ctx, db, "UPDATE $job SET run_at = time::now(), retries = 0 WHERE status = 'pending' RETURN VALUE status", vars)
		if err == nil && len(state) > 0 {
			return
		}
		held, err := surreal.First[[]string](ctx, db, "SELECT VALUE status FROM $job", vars)
		if err == nil && (len(held) == 0 || held[0] != "processing" && held[0] != "pending") {
			return
		}
		select {
		case <-ctx.Done():
		case <-ticker.C:
		}
	}
}
