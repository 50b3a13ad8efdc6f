package world

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/integration/chaos/plan"
	"sp00ky.cloud/spky/surreal"
)

//go:embed project.yml.txt
var projectText string

//go:embed history.surql
var history string

const openapi = `openapi: 3.0.0
info: {title: chaos, version: "1"}
paths:
  /task:
    post: {responses: {"200": {description: done}}}
`

// migrate writes a configuration for each node, lets the program bring the database up to it, and begins to keep the
// history of every row.
func (w *World) migrate(ctx context.Context) error {
	if err := w.writeProject(); err != nil {
		return err
	}
	cmd := w.spky(plan.Nodes()[0], "migrate", "apply")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("apply the schema: %w\n%s", err, text)
	}
	var text strings.Builder
	text.WriteString(history)
	for _, table := range Tables() {
		text.WriteString(strings.ReplaceAll(jobHistory, "{{table}}", table))
	}
	text.WriteString("INSERT INTO chaos_item $items RETURN NONE;")
	if err := surreal.Exec(ctx, w.DB.Retrying(), text.String(), map[string]any{"items": plan.Items()}); err != nil {
		return fmt.Errorf("keep the history: %w", err)
	}
	return nil
}

// Rest pauses the schedules, those that no operator has paused: nothing begins any more.
func (w *World) Rest(ctx context.Context) error {
	if err := surreal.Exec(ctx, w.DB.Retrying(), "UPDATE _00_schedule SET paused_at = time::now() WHERE paused_at = NONE RETURN NONE", nil); err != nil {
		return fmt.Errorf("pause the schedules: %w", err)
	}
	return nil
}

//go:embed history_job.surql
var jobHistory string

func (w *World) writeProject() error {
	dir := filepath.Join(w.Dir, "project")
	files := map[string]string{
		"openapi.yml": openapi, "schema.surql": "DEFINE TABLE IF NOT EXISTS chaos_count SCHEMALESS;\nDEFINE TABLE IF NOT EXISTS chaos_item SCHEMALESS;\n",
	}
	for _, table := range Tables() {
		ddl, err := config.OutboxSchema(table, config.OutboxOptions{})
		if err != nil {
			return err
		}
		files[table+".surql"] = ddl
	}
	pulse, err := json.Marshal(plan.PulseOps()) // which is YAML too
	if err != nil {
		return err
	}
	shape := template.Must(template.New("project").Parse(projectText))
	for _, node := range plan.Nodes() {
		var text strings.Builder
		urls := map[string]any{
			"Namespace": namespace, "Database": databaseName, "Concurrency": plan.TenantConcurrency, "Token": AdminToken, "DAGs": plan.DAGs(),
			"PulseOps": string(pulse), "Keep": w.Keep, "KeepFailed": w.Keep * 3 / 2, "KeepLongest": 2 * w.Keep,
		}
		for _, b := range plan.Backends() {
			urls[b] = fmt.Sprintf("http://%s/%s", w.links[node+">"+plan.Server(node, b)].Addr(), node)
		}
		if err := shape.Execute(&text, urls); err != nil {
			return err
		}
		files[node+".yml"] = text.String()
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return fmt.Errorf("write the project: %w", err)
		}
	}
	return nil
}
