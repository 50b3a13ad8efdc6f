package dev

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// stateDir is where development data lives, beside the configuration.
const stateDir = ".sp00ky"

// The data of the two databases that may be started.
const (
	dataSurreal = "data"
	dataDevdb   = "devdb"
)

func (s *session) dir(name string) string { return filepath.Join(s.cfg.Dir, stateDir, name) }

// ownProject makes the state directory, keeps other sessions of this project
// out. A given database needs none of it.
func (s *session) ownProject() (release func(), err error) {
	if s.cfg.SurrealDB.External {
		if s.o.Clean {
			return nil, hinted("leave out --clean, or let `spky dev` start the database",
				"dev: --clean removes the data of the database that spky dev starts, and %s is somebody else's", s.cfg.SurrealDB.Endpoint)
		}
		return func() {}, nil
	}
	if err := os.MkdirAll(filepath.Join(s.cfg.Dir, stateDir), 0o755); err != nil {
		return nil, fmt.Errorf("dev: %w", err)
	}
	if err := ignoreInGit(s.dir(".gitignore")); err != nil {
		return nil, err
	}
	release, err = lock(s.dir("dev.lock"))
	if errors.Is(err, errLocked) {
		return nil, hinted("use that one, or stop it first", "dev: another `spky dev` runs this project (process %s)", lockHolder(s.dir("dev.lock")))
	}
	if err != nil {
		return nil, fmt.Errorf("dev: lock the project: %w", err)
	}
	return release, nil
}

// ignoreInGit keeps the directory's content out of the user's repository.
func ignoreInGit(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("dev: %w", err)
	}
	_, err = f.WriteString("*\n")
	return errors.Join(err, f.Close())
}

// clean removes the data of earlier sessions, and says so first. The database's address has to be free: whoever listens
// there may be using the data.
func (s *session) clean() error {
	for _, name := range []string{dataDevdb, dataSurreal} {
		dir := s.dir(name)
		if _, err := os.Lstat(dir); err != nil {
			continue
		}
		s.say("--clean: removing the development data in %s", dir)
		if err := os.RemoveAll(dir); err != nil {
			return fmt.Errorf("dev: remove the development data: %w", err)
		}
	}
	return nil
}

// lockHolder is the process that the lock file names.
func lockHolder(path string) string {
	content, err := os.ReadFile(path)
	if text := strings.TrimSpace(string(content)); err == nil && text != "" {
		return text
	}
	return "unknown"
}

// errLocked is a lock that somebody else holds.
var errLocked = errors.New("locked")
