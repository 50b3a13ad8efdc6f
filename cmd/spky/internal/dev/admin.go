package dev

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"
)

// AdminAPI is the admin API of the session.
type AdminAPI interface {
	// Run serves until ctx ends.
	Run(ctx context.Context) error
	// Ready is closed once it listens.
	Ready() <-chan struct{}
	// Address is where, once it is ready.
	Address() string
}

// tokenFile keeps the session's admin token, so that what was told it once goes on knowing it.
const tokenFile = "admin-token"

// adminToken is the token of the admin API: the one of earlier sessions of this project, or a new one.
// On a given database it is for this session alone.
func (s *session) adminToken() (string, error) {
	if s.cfg.SurrealDB.External {
		return newToken(), nil
	}
	path := s.dir(tokenFile)
	text, err := os.ReadFile(path)
	if token := strings.TrimSpace(string(text)); err == nil && len(token) >= 26 {
		return token, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("dev: read the admin token: %w", err)
	}
	token := newToken()
	if err := os.WriteFile(path, []byte(token+"\n"), 0o600); err != nil {
		return "", fmt.Errorf("dev: keep the admin token: %w", err)
	}
	return token, nil
}

func newToken() string { return "spky_dev_" + strings.ToLower(rand.Text()) }

// adminSoon is how long the admin API may take to listen before the addresses are shown without it.
const adminSoon = 5 * time.Second

// adminAddress is where the admin API listens, "" where it does not (yet).
func (s *session) adminAddress(ctx context.Context) string {
	if s.admin == nil {
		return ""
	}
	timer := time.NewTimer(adminSoon)
	defer timer.Stop()
	select {
	case <-s.admin.Ready():
		return s.admin.Address()
	case <-timer.C:
	case <-ctx.Done():
	}
	return ""
}
