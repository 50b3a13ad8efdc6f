package world

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// programs are what is built for a run.
type programs struct {
	spky, typescript string
}

// An edit replaces a text in a source file while it is compiled. File is relative to the module, or to Go's own
// sources where it begins with $GOROOT. An edit without old adds a file.
type edit struct{ file, old, new string }

// build builds the node and the TypeScript backend.
func build(ctx context.Context, cfg Config) (programs, error) {
	root, err := output(ctx, "", "go", "list", "-m", "-f", "{{.Dir}}")
	if err != nil {
		return programs{}, err
	}
	edits, err := editsFor(cfg)
	if err != nil {
		return programs{}, err
	}
	p := programs{spky: filepath.Join(cfg.Dir, "spky")}
	args := []string{"build", "-o", p.spky}
	if cfg.Race {
		args = append(args, "-race")
	}
	overlay, err := writeOverlay(ctx, root, filepath.Join(cfg.Dir, "overlay"), edits)
	if err != nil {
		return programs{}, err
	}
	args = append(args, "-overlay", overlay)
	cfg.Log.Info("building", "program", "spky", "sabotage", cfg.Sabotage, "clock", cfg.Clock)
	if _, err := output(ctx, root, "go", append(args, "./cmd/spky")...); err != nil {
		return programs{}, err
	}
	p.typescript, err = buildTypeScript(ctx, root, cfg.Dir)
	return p, err
}

func editsFor(cfg Config) ([]edit, error) {
	edits := pruneEdits()
	if cfg.Clock {
		edits = append(edits, clockEdits()...)
	}
	if cfg.Sabotage == "" {
		return edits, nil
	}
	broken, ok := sabotages()[cfg.Sabotage]
	if !ok {
		return nil, fmt.Errorf("no sabotage is called %q; there are %s", cfg.Sabotage, strings.Join(Sabotages(), ", "))
	}
	return append(edits, broken...), nil
}

// Sabotages are the ways of breaking the program on purpose.
func Sabotages() []string { return slices.Sorted(maps.Keys(sabotages())) }

// writeOverlay writes the edited files and the list of them that the compiler wants.
func writeOverlay(ctx context.Context, root, dir string, edits []edit) (string, error) {
	goroot, err := output(ctx, "", "go", "env", "GOROOT")
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	replaced := map[string]string{}
	for _, e := range edits {
		original := filepath.Join(root, e.file)
		if rest, ok := strings.CutPrefix(e.file, "$GOROOT/"); ok {
			original = filepath.Join(goroot, rest)
		}
		if err := e.apply(original, dir, replaced); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", err
	}
	list := filepath.Join(dir, "overlay.json")
	return list, os.WriteFile(list, text, 0o644)
}

// apply makes the edit on top of those before it. A text that is not there any more is an error: the sabotage would be
// none.
func (e edit) apply(original, dir string, replaced map[string]string) error {
	source := original
	if earlier, ok := replaced[original]; ok {
		source = earlier
	}
	text := e.new
	if e.old != "" {
		was, err := os.ReadFile(source)
		if err != nil {
			return err
		}
		if !strings.Contains(string(was), e.old) {
			return fmt.Errorf("%s has changed: it does not contain %q any more", e.file, e.old)
		}
		text = strings.ReplaceAll(string(was), e.old, e.new)
	}
	if _, ok := replaced[original]; !ok {
		replaced[original] = filepath.Join(dir, fmt.Sprintf("%d-%s", len(replaced), filepath.Base(original)))
	}
	return os.WriteFile(replaced[original], []byte(text), 0o644) //nolint:gosec // a name of ours in the run's directory
}

// buildTypeScript compiles the TypeScript backend into the run's directory, where nobody else writes, and answers with
// the program. It installs what is missing.
func buildTypeScript(ctx context.Context, root, runDir string) (string, error) {
	here := filepath.Join(root, "integration", "chaos", "typescript")
	modules := filepath.Join(here, "node_modules")
	if _, err := os.Stat(filepath.Join(modules, ".package-lock.json")); err != nil {
		if _, err := output(ctx, here, "npm", "ci", "--no-audit", "--no-fund"); err != nil {
			return "", err
		}
	}
	built := filepath.Join(runDir, "typescript")
	if err := os.MkdirAll(built, 0o755); err != nil {
		return "", err
	}
	if err := os.Symlink(modules, filepath.Join(built, "node_modules")); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(built, "package.json"), []byte(`{"type": "module"}`), 0o644); err != nil {
		return "", err
	}
	_, err := output(ctx, here, "npx", "tsc", "-p", "tsconfig.json", "--outDir", built)
	return filepath.Join(built, "main.js"), err
}

// output runs a command and answers with what it printed.
func output(ctx context.Context, dir, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	var failure strings.Builder
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out, failure.String())
	}
	return strings.TrimSpace(string(out)), nil
}
