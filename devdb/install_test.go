package devdb_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb"
)

// Several processes start at once on a machine where an installation was interrupted: one installs anew, all start.
func TestConcurrentInstallations(t *testing.T) {
	t.Parallel()
	cache := t.TempDir()
	hash, err := devdb.HostHash()
	if err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(cache, "devdb-"+hash, "node_modules", "ws", "package.json")
	if err := os.MkdirAll(filepath.Dir(left), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(left, []byte("half a file"), 0o600); err != nil {
		t.Fatal(err)
	}

	old := filepath.Join(cache, "devdb-0123456789abcdef")
	recent := filepath.Join(cache, "devdb-fedcba9876543210")
	for dir, age := range map[string]time.Duration{old: 31 * 24 * time.Hour, recent: 24 * time.Hour} {
		marker := filepath.Join(dir, "installed")
		if err := errors.Join(os.Mkdir(dir, 0o755), os.WriteFile(marker, nil, 0o600),
			os.Chtimes(marker, time.Now().Add(-age), time.Now().Add(-age))); err != nil {
			t.Fatal(err)
		}
	}

	var stderr [3]bytes.Buffer
	var wg sync.WaitGroup
	for i := range stderr {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), helperEnv+"=start", "SPKY_CACHE_DIR="+cache)
		// Its input ends at once, so that it ends as soon as it has started.
		cmd.Stderr = &stderr[i]
		wg.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Errorf("process %d: %v\n%s", i, err, stderr[i].String())
			}
		})
	}
	wg.Wait()
	installed := 0
	for i := range stderr {
		installed += strings.Count(stderr[i].String(), "Installed the development database")
	}
	if installed != 1 {
		t.Errorf("it was installed %d times", installed)
	}
	if _, err := os.Stat(old); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a version nobody uses is still there (%v)", err)
	}
	if _, err := os.Stat(recent); err != nil {
		t.Errorf("a version in use is gone: %v", err)
	}
	if content, err := os.ReadFile(left); err != nil || !strings.HasPrefix(string(content), "{") {
		t.Errorf("the half installed package is still there: %q (%v)", content, err)
	}
}

// bin makes a directory with programs to be used as PATH: scripts, or links to the real thing.
func bin(t *testing.T, programs map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, script := range programs {
		path := filepath.Join(dir, name)
		if script != "" {
			if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
				t.Fatal(err)
			}
			continue
		}
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, path); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// startHere starts a database and ends it, for tests of what comes before.
func startHere(ctx context.Context) error {
	db, err := devdb.Start(ctx, devdb.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		return err
	}
	return db.Close()
}

func TestMissingPrograms(t *testing.T) {
	for name, tc := range map[string]struct {
		programs map[string]string
		says     string
	}{
		"nothing":  {nil, "Node.js is not on PATH"},
		"no npm":   {map[string]string{"node": ""}, "npm is not on PATH"},
		"old node": {map[string]string{"node": "printf 'v18.19.1 linux-x64'", "npm": "exit 0"}, "is Node.js v18.19.1, older than 20"},
		"no node":  {map[string]string{"node": "exit 1", "npm": "exit 0"}, "of an unknown version"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("SPKY_CACHE_DIR", t.TempDir())
			t.Setenv("PATH", bin(t, tc.programs))
			err := startHere(t.Context())
			var missing *devdb.MissingError
			if !errors.As(err, &missing) {
				t.Fatalf("got %v", err)
			}
			for _, want := range []string{tc.says, "install Node.js 20", "surreal on PATH", "SPKY_DB_URL", "surrealdb.endpoint"} {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%q does not say %q", err, want)
				}
			}
		})
	}
}

func TestInstalledHostNeedsNoNPM(t *testing.T) {
	if err := startHere(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin(t, map[string]string{"node": ""}))
	if err := startHere(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestInstallationFails(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("SPKY_CACHE_DIR", cache)
	t.Setenv("PATH", bin(t, map[string]string{"node": "", "npm": "echo 'npm error code ENOTFOUND' >&2; exit 7"}))
	err := startHere(t.Context())
	var failed *devdb.InstallError
	if !errors.As(err, &failed) || !strings.HasPrefix(failed.Dir, cache) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{"npm error code ENOTFOUND", "exit status 7", "Check the network", "installed anew"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

func TestInstallationIsCanceled(t *testing.T) {
	t.Setenv("SPKY_CACHE_DIR", t.TempDir())
	started := filepath.Join(t.TempDir(), "started")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		t.Fatal(err)
	}
	fifo := "echo > '" + started + "'; exec " + sleep + " 600"
	t.Setenv("PATH", bin(t, map[string]string{"node": "", "npm": fifo}))
	ctx, cancel := context.WithCancelCause(t.Context())
	changed := errors.New("changed my mind")
	end := make(chan error, 1)
	go func() { end <- startHere(ctx) }()
	for ticker := time.NewTicker(10 * time.Millisecond); ; <-ticker.C {
		if _, err := os.Stat(started); err == nil {
			ticker.Stop()
			break
		}
	}
	cancel(changed)
	if err := <-end; !errors.Is(err, changed) {
		t.Errorf("got %v", err)
	}
}

func TestCacheCannotBeMade(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SPKY_CACHE_DIR", filepath.Join(file, "below"))
	if err := startHere(t.Context()); err == nil || !strings.Contains(err.Error(), "SPKY_CACHE_DIR") {
		t.Errorf("got %v, want a word of SPKY_CACHE_DIR", err)
	}
}

func TestFind(t *testing.T) {
	tools := devdb.Find(t.Context())
	if tools.Node == "" || tools.NPM == "" || !strings.HasPrefix(tools.NodeVersion, "v") || !strings.Contains(tools.Platform, "-") {
		t.Errorf("found %+v", tools)
	}
	t.Setenv("PATH", bin(t, map[string]string{"surreal": "exit 0"}))
	if tools := devdb.Find(t.Context()); tools.Node != "" || tools.NPM != "" || filepath.Base(tools.Surreal) != "surreal" {
		t.Errorf("found %+v", tools)
	}
}

// The lock file must not say where packages come from: that is the user's npm configuration.
func TestLockFilesNameNoRegistry(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"host/package-lock.json", "testdata/jssdk/package-lock.json"} {
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(f)
		f.Close()
		if err != nil || bytes.Contains(content, []byte("resolved")) || bytes.Contains(content, []byte("https:")) {
			t.Errorf("%s says where packages come from (%v)", path, err)
		}
	}
}
