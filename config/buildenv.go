package config

import (
	"fmt"
	"os"
)

// variables merges the env sources of an app for the stage. A source that is
// not there is no error: the app may do without.
func (l *loader) variables(e entry[rawApp]) map[string]Secret {
	sources := e.value.Env.sources(l.opts.Stage)
	if len(sources) == 0 {
		return nil
	}
	env := make(map[string]Secret)
	for _, s := range sources {
		for _, p := range s.inline {
			env[p.name] = NewSecret(p.value)
		}
		for _, name := range s.vault {
			if value, ok := l.env(name); ok {
				env[name] = NewSecret(value)
			}
		}
		if s.file.given() {
			l.dotenv(s.file, env)
		}
	}
	return env
}

func (l *loader) dotenv(p filePath, env map[string]Secret) {
	content, err := readLimited(p.full, maxFileSize)
	if err != nil {
		l.d.warn(p.at, "found the file "+quote(p.full)+": "+reason(err)+", its variables are not set", "create the file or correct the path")
		return
	}
	vars, bad := ParseDotenv(content)
	for _, v := range vars {
		env[v.Name] = v.Value
	}
	for _, line := range bad {
		at := p.at
		f := at.finding(SeverityWarning, "found a line that is not NAME=value, it is skipped", "correct the line, or start it with #")
		f.File, f.Line, f.Column = p.full, line, 1
		l.d.add(f)
	}
}

// lintFiles checks the files that only a deployment or a development command
// reads.
func (l *loader) lintFiles() {
	l.lintSchemaFile()
	for _, b := range l.raw.Buckets {
		if !exists(b.full) && !exists((&source{dir: l.cfg.Schema.Buckets}).resolve(b.text)) {
			l.d.fault(b.at, fmt.Sprintf("found the file %s: there is no such file, allowed: a file here or in %s", quote(b.text), l.cfg.Schema.Buckets), "create the file or correct the path")
		}
	}
	for _, e := range l.raw.Apps {
		if d := e.value.Deploy; d != nil {
			l.lintFile(d.Dockerfile, l.d.fault)
			l.lintFile(d.Context, l.d.fault)
		}
		if dev := e.value.Dev; dev != nil {
			l.lintFile(dev.Workdir, l.d.warn)
			l.lintFile(dev.File, l.d.warn)
		}
	}
}

func (l *loader) lintSchemaFile() {
	if !l.d.has("schema") || exists(l.cfg.Schema.File) {
		return
	}
	l.d.warn(l.d.at("schema"), "found no schema at "+quote(l.cfg.Schema.File)+", allowed: a .surql file", "create the file or correct the path")
}

func (l *loader) lintFile(p filePath, complain func(place, string, string)) {
	if p.given() && !exists(p.full) {
		complain(p.at, "found the path "+quote(p.text)+": there is no such file, allowed: a path that exists", "create it or correct the path")
	}
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
