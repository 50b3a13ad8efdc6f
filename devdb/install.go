package devdb

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	// marker is written last: a directory without it is half installed.
	marker = "installed"
	// lockPoll is how often a process that waits for another's installation looks again.
	lockPoll = 100 * time.Millisecond
)

// install returns the directory of the installed host, installing it first when it is not there.
func install(ctx context.Context, progress io.Writer) (dir string, node string, err error) {
	root, err := cacheRoot()
	if err != nil {
		return "", "", err
	}
	hash, err := hostHash()
	if err != nil {
		return "", "", err
	}
	dir = filepath.Join(root, "devdb-"+hash)
	tools := Find(ctx)
	if err := tools.check(isInstalled(dir)); err != nil {
		return "", "", err
	}
	if isInstalled(dir) {
		return dir, tools.Node, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", "", fmt.Errorf("make the cache directory (SPKY_CACHE_DIR names another): %w", err)
	}
	unlock, err := lockDir(ctx, dir+".lock", progress)
	if err != nil {
		return "", "", err
	}
	defer unlock()
	if isInstalled(dir) {
		return dir, tools.Node, nil
	}
	return dir, tools.Node, installInto(ctx, dir, tools.NPM, progress)
}

// cacheRoot is where the host is installed: SPKY_CACHE_DIR, or spky's directory in the user's cache.
func cacheRoot() (string, error) {
	if dir := os.Getenv("SPKY_CACHE_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the user's cache directory (SPKY_CACHE_DIR names another): %w", err)
	}
	return filepath.Join(dir, "spky"), nil
}

func isInstalled(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, marker))
	return err == nil
}

// lockDir waits until no other process installs.
func lockDir(ctx context.Context, path string, progress io.Writer) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open the installation's lock (SPKY_CACHE_DIR names another place): %w", err)
	}
	ticker := time.NewTicker(lockPoll)
	defer ticker.Stop()
	for told := false; ; {
		ok, err := tryLock(f)
		if err == nil && ok {
			return func() { f.Close() }, nil
		}
		if err != nil {
			f.Close()
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		if !told {
			told = true
			fmt.Fprintln(progress, "Another process installs the development database; waiting for it.")
		}
		select {
		case <-ctx.Done():
			f.Close()
			return nil, fmt.Errorf("wait for another process to install the development database: %w", context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// installInto starts from nothing, so that whatever an interrupted installation left cannot matter.
func installInto(ctx context.Context, dir, npm string, progress io.Writer) error {
	if err := os.RemoveAll(dir); err != nil {
		return fmt.Errorf("remove a half finished installation: %w", err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("make the installation's directory: %w", err)
	}
	if err := unpack(dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "Installing the development database into %s (once, about 40 MB over the network) ...\n", dir)
	start := time.Now()
	if err := runNPM(ctx, dir, npm, progress); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o644); err != nil {
		return fmt.Errorf("mark the installation as finished: %w", err)
	}
	fmt.Fprintf(progress, "Installed the development database in %.1f s.\n", time.Since(start).Seconds())
	return nil
}

// runNPM installs exactly what the lock file says. Peer dependencies are left out: the engine's package names the whole
// JavaScript SDK as one, and the host loads the native module without it.
func runNPM(ctx context.Context, dir, npm string, progress io.Writer) error {
	cmd := exec.CommandContext(ctx, npm, "ci", "--legacy-peer-deps", "--ignore-scripts", "--omit=dev", "--no-audit", "--no-fund",
		"--no-update-notifier", "--no-progress", "--loglevel=warn")
	cmd.Dir = dir
	var out bytes.Buffer
	cmd.Stdout = io.MultiWriter(&out, progress)
	cmd.Stderr = cmd.Stdout
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = errors.Join(err, context.Cause(ctx))
	}
	return &InstallError{Dir: dir, Output: strings.TrimSpace(out.String()), Err: err}
}
