package admin

import (
	"context"
	"errors"
	"maps"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// maxName bounds names in the audit, maxDetail its details; in bytes.
const (
	maxName   = 200
	maxDetail = 500
)

// entry is what the audit says of an operation beside its outcome; target "" is the record created.
func entry(ctx context.Context, action, target string) map[string]any {
	a := ActorOf(ctx)
	e := map[string]any{"actor": short(a.Name, maxName), "via": short(a.Via, maxName), "action": action, "target": surreal.None, "detail": surreal.None}
	if target != "" {
		e["target"] = short(target, maxDetail)
	}
	return e
}

// audited runs an expression that changes something. Its audit row is written in the same transaction;
// where that fails, one of the failure. A record that exists already is for the caller to note.
func audited[T any](ctx context.Context, db *surreal.Client, action, target, call string, vars map[string]any) (T, error) {
	all := map[string]any{"audit": entry(ctx, action, target)}
	maps.Copy(all, vars)
	answer, err := surreal.First[T](ctx, db.Retrying(), "RETURN fn::spky::audit::note($audit, ("+call+"))", all)
	if err != nil && !surreal.IsAlreadyExists(err) {
		return answer, noteFailure(ctx, db, action, target, err)
	}
	return answer, err
}

// noteFailure writes an audit row of what failed, and gives back why.
func noteFailure(ctx context.Context, db *surreal.Client, action, target string, err error) error {
	return noteOutcome(ctx, db, action, target, "failed", err)
}

// noteOutcome writes an audit row of what did not come about, and gives back why. A database that could
// not be talked to is not asked again.
func noteOutcome(ctx context.Context, db *surreal.Client, action, target, outcome string, err error) error {
	if surreal.IsUnreachable(err) {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	e := entry(ctx, action, target)
	e["detail"] = short(err.Error(), maxDetail)
	vars := map[string]any{"audit": e, "outcome": outcome}
	if noted := surreal.Exec(ctx, db.Retrying(), "RETURN fn::spky::audit::write($audit, $audit.target, $outcome)", vars); noted != nil && noted.Error() != err.Error() {
		return errors.Join(err, noted)
	}
	return err
}
