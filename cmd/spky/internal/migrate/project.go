package migrate

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"sp00ky.cloud/spky/config"
)

// A Project says which files there are.
type Project struct {
	// Dir is what file names are shown relative to.
	Dir string
	// Schema is the path of the declared schema; it need not exist.
	Schema string
	// Migrations is the directory of the migrations; it need not exist.
	Migrations string
	// Outboxes are the paths of the outbox schemas.
	Outboxes []string
	// Tables are the outbox tables.
	Tables []string
	// Partitions are the columns by which the jobs of tables are parted, by table.
	Partitions map[string]string
}

// FromConfig is the project that a configuration describes.
func FromConfig(cfg *config.Config) Project {
	p := Project{Dir: cfg.Dir, Schema: cfg.Schema.File, Migrations: cfg.Schema.Migrations, Partitions: map[string]string{}}
	for _, b := range cfg.Backends {
		if b.OutboxSchema != "" && !slices.Contains(p.Outboxes, b.OutboxSchema) {
			p.Outboxes = append(p.Outboxes, b.OutboxSchema)
		}
		if b.Table != "" && !slices.Contains(p.Tables, b.Table) {
			p.Tables = append(p.Tables, b.Table)
		}
		if b.Table != "" && b.PartitionBy != "" {
			p.Partitions[b.Table] = b.PartitionBy
		}
	}
	return p
}

// A source is one file to apply.
type source struct {
	version    string // its key in _00_migrations
	name       string // as recorded, for people
	file       string // as shown
	checksum   string
	statements []statement
}

// migrationFile is the name of a migration.
var migrationFile = regexp.MustCompile(`^(\d{14})_(.+)\.surql$`)

// declared reads the schema and the outbox schemas.
func (p Project) declared() ([]source, error) {
	var all []source
	add := func(kind, path string) error {
		s, err := p.read(path)
		if err != nil {
			return err
		}
		s.version, s.name = kind, s.file
		if kind != "schema" {
			s.version += ":" + s.file
		}
		if err := checkDeclared(s.file, s.statements); err != nil {
			return err
		}
		all = append(all, s)
		return nil
	}
	if err := add("schema", p.Schema); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, path := range p.Outboxes {
		if err := add("outbox", path); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// migrations reads the migrations in their order.
func (p Project) migrations() ([]source, error) {
	entries, err := os.ReadDir(p.Migrations)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read migrations: %w", err)
	}
	var all []source
	for _, e := range entries { // sorted by name
		if e.IsDir() || filepath.Ext(e.Name()) != ".surql" {
			continue
		}
		m := migrationFile.FindStringSubmatch(e.Name())
		if m == nil {
			return nil, fmt.Errorf("migration %s: its name is not <YYYYMMDDHHMMSS>_<name>.surql", p.show(filepath.Join(p.Migrations, e.Name())))
		}
		s, err := p.read(filepath.Join(p.Migrations, e.Name()))
		if err != nil {
			return nil, err
		}
		s.version, s.name = m[1], m[2]
		if n := len(all); n > 0 && all[n-1].version == s.version {
			return nil, fmt.Errorf("migrations %s and %s have the same time stamp; rename one", all[n-1].file, s.file)
		}
		all = append(all, s)
	}
	return all, nil
}

func (p Project) read(path string) (source, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return source{}, fmt.Errorf("read schema: %w", err)
	}
	text := strings.TrimPrefix(strings.ReplaceAll(string(content), "\r\n", "\n"), "\ufeff")
	file := p.show(path)
	statements, err := unwrap(file, split(text))
	if err != nil {
		return source{}, err
	}
	return source{file: file, checksum: checksum(text), statements: statements}, nil
}

// show is a path relative to the project where it lies in it.
func (p Project) show(path string) string {
	rel, err := filepath.Rel(p.Dir, path)
	if err != nil || strings.HasPrefix(rel, "..") {
		return path
	}
	return filepath.ToSlash(rel)
}

func checksum(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
