package mcp_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// patience is how long a test waits for what must happen; it is never a measurement.
const patience = 2 * time.Minute

// scratch is a directory for what this binary builds.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "spky-mcp-") })

func TestMain(m *testing.M) {
	code := m.Run()
	if dir, err := scratch(); err == nil {
		_ = os.RemoveAll(dir)
	}
	os.Exit(code)
}

// built is the program, built once.
var built = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "spky")
	out, err := exec.Command("go", "build", "-o", program, "sp00ky.cloud/spky/cmd/spky").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("build spky: %w\n%s", err, out)
	}
	return program, nil
})

func spky(t *testing.T) string {
	t.Helper()
	program, err := built()
	check(t, err)
	return program
}

// clients is the directory of the clients, installed once a version into the user's cache.
var clients = sync.OnceValues(func() (string, error) {
	files, hash, err := clientFiles()
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if dir := os.Getenv("SPKY_CACHE_DIR"); dir != "" {
		cache, err = dir, nil
	}
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, "spky", "mcp-clients-"+hash)
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	return dir, install(files, dir)
})

const clientSource = "testdata/client"

// clientFiles reads the clients' files, and hashes them.
func clientFiles() (map[string][]byte, string, error) {
	files, hash := map[string][]byte{}, sha256.New()
	for _, name := range []string{".npmrc", "package.json", "package-lock.json", "client.mjs"} {
		text, err := os.ReadFile(filepath.Join(clientSource, name))
		if err != nil {
			return nil, "", err
		}
		files[name] = text
		fmt.Fprintf(hash, "%s %d\n%s", name, len(text), text)
	}
	return files, hex.EncodeToString(hash.Sum(nil))[:12], nil
}

// install makes the directory as a whole or not at all: another test may do the same.
func install(files map[string][]byte, dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	half, err := os.MkdirTemp(filepath.Dir(dir), "mcp-clients-half-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(half)
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(half, name), text, 0o644); err != nil {
			return err
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier", "--loglevel=error")
	npm.Dir = half
	if out, err := npm.CombinedOutput(); err != nil {
		return fmt.Errorf("install the MCP clients: %w\n%s", err, out)
	}
	if err := os.Rename(half, dir); err != nil {
		if _, there := os.Stat(dir); errors.Is(there, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

func clientsDir(t *testing.T) string {
	t.Helper()
	dir, err := clients()
	check(t, err)
	return dir
}

// run runs a program to its end, and gives what it printed.
func run(ctx context.Context, t *testing.T, dir string, env []string, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.Output()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			t.Fatalf("%s %v: %v\n%s\n%s", name, args, err, out, exit.Stderr)
		}
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return string(out)
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
