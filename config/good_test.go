package config_test

import (
	"path/filepath"
	"testing"

	"sp00ky.cloud/spky/config"
)

func TestGoodFiles(t *testing.T) {
	t.Parallel()
	for _, file := range goodFiles(t) {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			t.Parallel()
			for _, stage := range []config.Stage{config.StageAny, config.StageDev, config.StageCloud} {
				opts := config.Options{Path: file, Env: variables, Stage: stage}
				report := config.Lint("", opts)
				for _, f := range report.Findings() {
					t.Errorf("stage %q: %s %s", stage, f.Severity, f)
				}
				if !report.Parsed || !report.OK() {
					t.Errorf("stage %q: parsed %v, ok %v", stage, report.Parsed, report.OK())
				}
				if _, err := config.Load(opts); err != nil {
					t.Errorf("stage %q: %v", stage, err)
				}
			}
		})
	}
}
