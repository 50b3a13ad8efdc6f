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
	// unusedAfter is how long an installation of another version is kept without being used.
	unusedAfter = 30 * 24 * time.Hour
	// lockPoll is how often a process that waits for another's installation looks again.
	lockPoll = 100 * time.Millisecond
)

// installation is a host that is ready to run.
type installation struct {
	dir  string
	node string
}

// install returns the installed host, installing it first when it is not there.
func install(ctx context.Context, progress io.Writer) (installation, error) {
	root, err := cacheRoot()
	if err != nil {
		return installation{}, err
	}
	hash, err := hostHash()
	if err != nil {
		return installation{}, err
	}
	tools := Find(ctx)
	if ctx.Err() != nil {
		return installation{}, fmt.Errorf("start the development database: %w", context.Cause(ctx))
	}
	in := installation{dir: filepath.Join(root, "devdb-"+hash), node: tools.Node}
	installed := in.complete()
	if err := tools.check(installed); err != nil {
		return in, err
	}
	if installed {
		in.use()
		return in, nil
	}
	if err := os.MkdirAll(root, 0o755); err != nil {
		return in, fmt.Errorf("make the cache directory (SPKY_CACHE_DIR names another): %w", err)
	}
	unlock, err := lockDir(ctx, in.dir+".lock", progress)
	if err != nil {
		return in, err
	}
	defer unlock()
	if in.complete() {
		return in, nil
	}
	return in, in.make(ctx, tools, progress)
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

// complete reports whether the installation was finished, and nobody has taken the packages away since.
func (in installation) complete() bool {
	for _, name := range []string{marker, "node_modules/ws/package.json", "node_modules/@surrealdb/node/package.json"} {
		if _, err := os.Stat(filepath.Join(in.dir, filepath.FromSlash(name))); err != nil {
			return false
		}
	}
	return true
}

// use notes that the installation is in use. When it cannot be noted, it may have to be installed again some day.
func (in installation) use() {
	now := time.Now()
	_ = os.Chtimes(filepath.Join(in.dir, marker), now, now)
}

// sweep removes the installations that nobody has used since a time; every version of the host leaves one.
func sweep(root string, since time.Time) {
	markers, err := filepath.Glob(filepath.Join(root, "devdb-*", marker))
	if err != nil {
		return
	}
	for _, path := range markers {
		if info, err := os.Stat(path); err == nil && info.ModTime().Before(since) {
			_ = os.RemoveAll(filepath.Dir(path))
		}
	}
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

// make starts from nothing, so that whatever an interrupted installation left cannot matter.
func (in installation) make(ctx context.Context, tools Tools, progress io.Writer) error {
	if err := os.RemoveAll(in.dir); err != nil {
		return fmt.Errorf("remove a half finished installation: %w", err)
	}
	if err := os.MkdirAll(in.dir, 0o755); err != nil {
		return fmt.Errorf("make the installation's directory: %w", err)
	}
	if err := unpack(in.dir); err != nil {
		return err
	}
	fmt.Fprintf(progress, "Installing the development database into %s (once, about 70 MB over the network) ...\n", in.dir)
	start := time.Now()
	if err := runNPM(ctx, in.dir, tools.NPM, progress); err != nil {
		return err
	}
	in.prune(tools.Platform)
	sweep(filepath.Dir(in.dir), time.Now().Add(-unusedAfter))
	if err := os.WriteFile(filepath.Join(in.dir, marker), nil, 0o644); err != nil {
		return fmt.Errorf("mark the installation as finished: %w", err)
	}
	fmt.Fprintf(progress, "Installed the development database in %.1f s.\n", time.Since(start).Seconds())
	return nil
}

// prune removes the engine's builds for other platforms: 100 MB of 150. What cannot be removed does no harm.
func (in installation) prune(platform string) {
	builds, err := filepath.Glob(filepath.Join(in.dir, "node_modules", "@surrealdb", "node", "dist", "surrealdb-node.*.node"))
	if err != nil || platform == "" {
		return
	}
	for _, build := range builds {
		if !strings.HasPrefix(filepath.Base(build), "surrealdb-node."+platform) {
			_ = os.Remove(build)
		}
	}
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
