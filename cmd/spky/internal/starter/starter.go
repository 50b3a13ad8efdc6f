// Package starter writes new projects: a backend with a workflow, in TypeScript or in Go, that runs as it is.
package starter

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/template"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/sdk/typescript"
)

//go:embed all:ts all:go
var templates embed.FS

// sdkDir is where a TypeScript project keeps the SDK, which is on no registry.
const sdkDir = "vendor/spooky-sync-backend"

// Options say what to write.
type Options struct {
	// Dir is the project's directory, made where it is missing. It may hold files, but none that would be written.
	Dir string
	// Lang is ts or go.
	Lang string
	// Version of the Go module that a Go project requires. Defaults to v0.0.0, which needs Replace.
	Version string
	// Replace is the directory of a checkout of spky that a Go project uses instead of the published module.
	Replace string
}

// Languages that there are starters for.
func Languages() []string { return []string{"ts", "go"} }

// ErrExists is a file in the way. Nothing was written.
var ErrExists = errors.New("is there already")

// Write writes a project and answers with its files, relative to the directory. It replaces nothing.
func Write(o Options) ([]string, error) {
	if !slices.Contains(Languages(), o.Lang) {
		return nil, fmt.Errorf("unknown language %q; known: %s", o.Lang, strings.Join(Languages(), ", "))
	}
	files, err := render(o)
	if err != nil {
		return nil, err
	}
	if o.Lang == "ts" {
		if err := addSDK(files); err != nil {
			return nil, err
		}
	}
	names := sorted(files)
	for _, name := range names {
		if _, err := os.Lstat(filepath.Join(o.Dir, name)); err == nil {
			return nil, fmt.Errorf("%s %w; choose another directory", filepath.Join(o.Dir, name), ErrExists)
		}
	}
	return names, put(o.Dir, files)
}

// WriteSDK puts the TypeScript SDK of this program into a project, in place of the one that is there.
func WriteSDK(dir string) error {
	files := map[string][]byte{}
	if err := addSDK(files); err != nil {
		return err
	}
	if err := os.RemoveAll(filepath.Join(dir, sdkDir)); err != nil {
		return fmt.Errorf("replace the SDK: %w", err)
	}
	return put(dir, files)
}

// facts are what the templates are filled in with.
type facts struct {
	Name, Module, Version, Replace, Dev string
	Published                           bool // there is such a Version
}

func factsOf(o Options) (facts, error) {
	absolute, err := filepath.Abs(o.Dir)
	if err != nil {
		return facts{}, fmt.Errorf("init %s: %w", o.Dir, err)
	}
	name := packageName(filepath.Base(absolute))
	f := facts{Name: name, Module: "example.com/" + name, Version: o.Version, Replace: quoted(o.Replace), Published: o.Version != "", Dev: "npm start --silent"}
	if o.Lang == "go" {
		f.Dev = "go run ."
	}
	if f.Version == "" {
		f.Version = "v0.0.0"
	}
	return f, nil
}

// quoted is a path as go.mod reads it.
func quoted(dir string) string {
	if strings.ContainsAny(dir, " \t\"'`,()[]{}") || strings.Contains(dir, "//") || strings.Contains(dir, "/*") {
		return strconv.Quote(dir)
	}
	return dir
}

// packageName makes a directory's name one that npm and Go accept.
func packageName(dir string) string {
	name := strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, strings.ToLower(dir)), "-")
	if name == "" {
		return "backend"
	}
	return name
}

// render fills in the templates of a language.
func render(o Options) (map[string][]byte, error) {
	f, err := factsOf(o)
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{}
	err = fs.WalkDir(templates, o.Lang, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		t, err := template.ParseFS(templates, name)
		if err != nil {
			return err
		}
		var text bytes.Buffer
		if err := t.Option("missingkey=error").Execute(&text, f); err != nil {
			return err
		}
		files[strings.TrimSuffix(strings.TrimPrefix(name, o.Lang+"/"), ".tmpl")] = text.Bytes()
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("render starter: %w", err)
	}
	outbox, err := config.OutboxSchema("job", config.OutboxOptions{Backend: "api"})
	if err != nil {
		return nil, fmt.Errorf("render starter: %w", err)
	}
	files["src/outbox/api.surql"] = []byte(outbox)
	return files, nil
}

// addSDK adds the files of the TypeScript SDK.
func addSDK(files map[string][]byte) error {
	err := fs.WalkDir(typescript.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := typescript.Files.ReadFile(name)
		files[path.Join(sdkDir, name)] = content
		return err
	})
	if err != nil {
		return fmt.Errorf("read the embedded SDK: %w", err)
	}
	return nil
}

func put(dir string, files map[string][]byte) error {
	for _, name := range sorted(files) {
		target := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("write project: %w", err)
		}
		if err := os.WriteFile(target, files[name], 0o644); err != nil {
			return fmt.Errorf("write project: %w", err)
		}
	}
	return nil
}

func sorted(files map[string][]byte) []string {
	names := make([]string, 0, len(files))
	for name := range files {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
