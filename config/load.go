package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"gopkg.in/yaml.v3"
)

// Options say where a configuration comes from. The zero value reads sp00ky.yml
// of the working directory and the environment of the process.
type Options struct {
	// Path is the configuration file. Defaults to DefaultFile.
	Path string
	// Env finds a variable and reports whether it is set. Defaults to
	// os.LookupEnv.
	Env func(name string) (string, bool)
	// Overrides are what the command line says.
	Overrides Overrides
	// Stage is where the program runs. Defaults to StageAny.
	Stage Stage
	// AllowMissing takes a file that does not exist for an empty one, for
	// commands that need no more than the address of the database.
	AllowMissing bool
}

// Overrides are the values of the command line. An empty one overrides nothing.
type Overrides struct {
	Endpoint    string // --db-url
	Namespace   string // --ns
	Database    string // --db
	Username    string // --db-user
	Password    string // --db-pass
	Listen      string // --listen
	AdminListen string // --admin-listen
	LogLevel    string // --log-level
}

// Load returns the configuration with the environment and the flags applied. A
// configuration that has errors is an *InvalidError with all of them; there is
// no other kind of error. Files that only a deployment reads are not looked at.
func Load(opts Options) (*Config, error) {
	l := newLoader(opts)
	l.run()
	r := report(l.src.name, l.parsed, l.d.findings)
	if !r.OK() {
		return nil, &InvalidError{Report: r}
	}
	l.cfg.Warnings = r.Warnings
	return &l.cfg, nil
}

// Lint checks a configuration without using it: everything that Load checks,
// and that every file it names exists. An empty path is that of the options.
func Lint(path string, opts Options) Report {
	if path != "" {
		opts.Path = path
	}
	l := newLoader(opts)
	l.run()
	if l.parsed {
		l.lintFiles()
	}
	return report(l.src.name, l.parsed, l.d.findings)
}

// loader turns one file into a Config.
type loader struct {
	d      *decoder
	opts   Options
	env    lookup
	src    *source
	raw    rawFile
	parsed bool
	cfg    Config
}

func newLoader(opts Options) *loader {
	if opts.Path == "" {
		opts.Path = DefaultFile
	}
	l := &loader{d: newDecoder(), opts: opts, env: opts.Env, src: newSource(opts.Path)}
	if l.env == nil {
		l.env = os.LookupEnv
	}
	l.raw = rawFile{
		Mode:          "singlenode",
		ShutdownGrace: span(defaultGrace),
		Metrics:       rawMetrics{Enabled: true},
		LogLevel:      rawLogLevel{Dev: defaultLogLevel, Cloud: defaultLogLevel},
		SurrealDB: rawSurrealDB{
			Version: defaultVersion, Namespace: "main", Database: "main", Hosting: "cloud",
		},
		Retention: rawRetention{
			Success: span(6 * time.Hour), Failed: span(14 * 24 * time.Hour),
			RunSuccess: span(24 * time.Hour), RunFailed: span(30 * 24 * time.Hour),
			RunDeadline: span(time.Hour), Audit: span(400 * 24 * time.Hour), Mode: "all",
		},
	}
	return l
}

func (l *loader) run() {
	root := l.read()
	if root == nil {
		return
	}
	l.parsed = true
	at := place{src: l.src, node: root}
	l.d.places[""] = at
	l.d.structure(at, reflect.ValueOf(&l.raw).Elem())
	l.build()
}

// read returns the root of the file, or nil after reporting why there is none.
func (l *loader) read() *yaml.Node {
	at := place{src: l.src}
	content, err := readLimited(l.src.name, maxFileSize)
	switch {
	case errors.Is(err, fs.ErrNotExist) && l.opts.AllowMissing:
		return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Line: 1, Column: 1}
	case errors.Is(err, fs.ErrNotExist):
		l.d.fault(at, "there is no such file", "create it with `spky add api`, or name another one with --config")
	case errors.Is(err, errTooLarge):
		l.d.fault(at, "found more than 1 MiB, allowed: at most 1 MiB", "move schedules and workflows into files of their own, and data out of the configuration")
	case err != nil:
		l.d.fault(at, "the file cannot be read: "+reason(err), "name a readable file with --config")
	default:
		return l.d.parse(l.src, content)
	}
	return nil
}

// build fills the Config from the file, the environment and the flags.
func (l *loader) build() {
	c := &l.cfg
	c.File, c.Dir = l.src.name, l.src.dir
	c.Mode, c.Slug = l.raw.Mode, l.raw.Slug
	if c.Mode == "surrealism" {
		l.d.fault(l.d.at("mode"), "found \"surrealism\", which has no job runner, allowed: singlenode, cluster",
			"use singlenode: the processor runs beside the database, not inside it")
	}
	l.buildDatabase()
	l.buildServing()
	l.buildSchema()
	c.Retention = Retention{
		Success: time.Duration(l.raw.Retention.Success), Failed: time.Duration(l.raw.Retention.Failed),
		RunSuccess: time.Duration(l.raw.Retention.RunSuccess), RunFailed: time.Duration(l.raw.Retention.RunFailed),
		RunDeadline: time.Duration(l.raw.Retention.RunDeadline), Audit: time.Duration(l.raw.Retention.Audit),
		MaxRows: l.raw.Retention.MaxRows, Mode: l.raw.Retention.Mode,
	}
	c.ShutdownGrace = time.Duration(l.raw.ShutdownGrace)
	l.buildRedact()
	l.buildApps()
	l.buildSchedules()
}

// buildRedact takes the paths of what is not to be shown: one that hides nothing because it is written in
// another notation would be worse than none.
func (l *loader) buildRedact() {
	l.cfg.Redact = slices.Clone(l.raw.Redact)
	for i, path := range l.cfg.Redact {
		if !redactPattern.MatchString(path) {
			l.d.fault(l.d.at(fmt.Sprintf("redact[%d]", i)), fmt.Sprintf("found the text %q, allowed: names with dots between them, * for any one name", path),
				"write it as in payload.card.number or *.password; lists need no index")
			continue
		}
		if !strings.Contains(path, ".") && !slices.Contains([]string{"payload", "result", "params", "output", "errors"}, strings.ToLower(path)) {
			l.d.warn(l.d.at(fmt.Sprintf("redact[%d]", i)), fmt.Sprintf("found %q, which hides a column of that name in outbox tables, and nothing inside of payloads", path),
				"write *."+path+" for values of that name at any depth")
		}
	}
}

func (l *loader) buildSchema() {
	s := &l.cfg.Schema
	base := l.src
	if l.raw.Schema.dir.given() {
		base = &source{dir: l.raw.Schema.dir.full}
	}
	for _, p := range []struct {
		dst      *string
		given    filePath
		fallback string
	}{
		{&s.File, l.raw.Schema.Schema, filepath.Join("src", "schema.surql")},
		{&s.Migrations, l.raw.Schema.Migrations, "migrations"},
		{&s.Buckets, l.raw.Schema.BucketsDir, filepath.Join("src", "buckets")},
	} {
		*p.dst = base.resolve(p.fallback)
		if p.given.given() {
			*p.dst = p.given.full
		}
	}
}
