package devdb

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// host is the Node program.
//
//go:embed host/*.mjs host/package.json host/package-lock.json
var host embed.FS

// hostHash names the program's content, so that every version of it has a directory of its own.
func hostHash() (string, error) {
	sum := sha256.New()
	err := eachHostFile(func(name string, content []byte) error {
		fmt.Fprintf(sum, "%s %d\n", name, len(content))
		sum.Write(content)
		return nil
	})
	if err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)[:8]), nil
}

// unpack writes the program into a directory.
func unpack(dir string) error {
	return eachHostFile(func(name string, content []byte) error {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return fmt.Errorf("unpack the development database: %w", err)
		}
		return nil
	})
}

// eachHostFile calls do for every file of the program, in the order of their names.
func eachHostFile(do func(name string, content []byte) error) error {
	entries, err := fs.ReadDir(host, "host")
	if err != nil {
		return fmt.Errorf("read the embedded host: %w", err)
	}
	for _, entry := range entries {
		content, err := host.ReadFile("host/" + entry.Name())
		if err != nil {
			return fmt.Errorf("read the embedded host: %w", err)
		}
		if err := do(entry.Name(), content); err != nil {
			return err
		}
	}
	return nil
}
