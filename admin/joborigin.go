package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// Origins are where jobs come from: durable ones the platform wrote to run a workflow instance, app is
// anything else, also a row that only looks like such a one, which the runner refuses.
func Origins() []string { return []string{originApp, originDurable} }

const (
	originApp     = "app"
	originDurable = "durable"
	// durablePath is what the path of a job begins with that runs a workflow instance.
	durablePath = "/__spky/workflow/"
)

func origin(durable bool) string {
	if durable {
		return originDurable
	}
	return originApp
}

// origin is that of a job that was read in this answer.
func (a jobsAnswer) origin(row outbox.Row) string {
	id, _ := row["id"].(surreal.RecordID)
	name := surreal.FormatID(id)
	return origin(slices.ContainsFunc(a.Durable, func(one surreal.RecordID) bool { return surreal.FormatID(one) == name }))
}

// originNow is that of a row that a notification brought. The database is asked only where the row looks as if the platform
// wrote it: a LIVE SELECT that called a function would call it at every write of the table.
func (j *Jobs) originNow(ctx context.Context, row outbox.Row) (string, error) {
	path, _ := row["path"].(string)
	if row["assigned_to"] != nil || !strings.HasPrefix(path, durablePath) {
		return originApp, nil
	}
	durable, err := surreal.First[bool](ctx, j.db, jobStatement("job_origin", "", ""), map[string]any{"id": row["id"]})
	if err != nil {
		return "", fmt.Errorf("look where the job comes from: %w", err)
	}
	return origin(durable), nil
}
