package retention

import (
	"context"
	"fmt"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
)

// Settings are the row _00_retention:default. A count of 0 seconds keeps for ever.
type Settings struct {
	// SuccessSecs is for successful jobs, FailedSecs for failed and cancelled ones.
	SuccessSecs int64 `json:"success_secs"`
	FailedSecs  int64 `json:"failed_secs"`
	// RunSuccessSecs is for complete instances and runs of DAGs that succeeded, RunFailedSecs for those that ended
	// otherwise.
	RunSuccessSecs int64 `json:"run_success_secs"`
	RunFailedSecs  int64 `json:"run_failed_secs"`
	// AuditSecs is for rows of the audit.
	AuditSecs int64 `json:"audit_secs"`
	// MaxRows is how many successful jobs a table keeps at most, whatever their age; 0 is no limit.
	MaxRows int `json:"max_rows"`
	// Tables are the outbox tables that may be pruned.
	Tables []string `json:"job_tables"`
}

// Configure writes what a configuration says about retention and the outbox tables, and answers with what
// holds. A value that the configuration has said before is not written again: an operator may have set
// another.
func Configure(ctx context.Context, db surreal.Querier, r config.Retention, tables []string) (Settings, error) {
	mode := r.Mode
	if mode == "" {
		mode = "all"
	}
	want := map[string]any{
		"success_secs": seconds(r.Success), "failed_secs": seconds(r.Failed),
		"run_success_secs": seconds(r.RunSuccess), "run_failed_secs": seconds(r.RunFailed),
		"run_deadline_secs": seconds(r.RunDeadline), "audit_secs": seconds(r.Audit), "max_rows": r.MaxRows, "mode": mode,
	}
	if tables == nil {
		tables = []string{}
	}
	s, err := surreal.First[Settings](ctx, db, "RETURN fn::spky::retention::configure($want, $tables)", map[string]any{"want": want, "tables": tables})
	if err != nil {
		return s, fmt.Errorf("configure retention: %w", err)
	}
	return s, nil
}

// Read reads the settings. A database that has none keeps everything.
func Read(ctx context.Context, db surreal.Querier) (Settings, error) {
	s, err := surreal.First[Settings](ctx, db, "SELECT * FROM ONLY _00_retention:default", nil)
	if err != nil {
		return s, fmt.Errorf("read retention: %w", err)
	}
	return s, nil
}

// seconds rounds up, for none is for ever.
func seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }
