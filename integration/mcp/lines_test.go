package mcp_test

import (
	"strings"
	"sync"
)

// lines keeps what a program wrote.
type lines struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lines) Write(text []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(text)
}

func (l *lines) all() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
