package config

import (
	"fmt"
	"net/url"
	"time"
)

// buildApps fills in the apps of the stage and checks the rules that span
// several keys. The rules of an app hold in every stage; what it takes from the
// environment only matters in its own.
func (l *loader) buildApps() {
	for _, e := range l.raw.Apps {
		l.checkApp(e)
		scope := Scope(e.value.Scope)
		if !scope.in(l.opts.Stage) {
			continue
		}
		env := l.variables(e)
		app := App{
			Name: e.name, Kind: AppKind(e.value.Type), Scope: scope,
			External: e.value.Hosting == "external", Dir: e.value.dir,
			Dev: buildDev(e.value), Env: env,
		}
		l.cfg.Apps = append(l.cfg.Apps, app)
		if app.Kind == KindBackend {
			l.cfg.Backends = append(l.cfg.Backends, l.backend(e, app))
		}
	}
	l.checkTables()
	l.checkBindings()
}

func buildDev(raw rawApp) *Dev {
	if raw.Dev == nil {
		return nil
	}
	dev := &Dev{Kind: DevKind(raw.Dev.Type), Script: raw.Dev.Script, File: raw.Dev.File.full, Workdir: raw.dir, Port: raw.Dev.Port}
	if raw.Dev.Workdir.given() {
		dev.Workdir = raw.Dev.Workdir.full
	}
	if raw.Dev.command != "" {
		dev.Kind, dev.Command = DevCommand, raw.Dev.command
	}
	return dev
}

func (l *loader) backend(e entry[rawApp], app App) Backend {
	raw := e.value
	b := Backend{
		Name: e.name, Scope: app.Scope, External: app.External, Dir: app.Dir, Dev: app.Dev, Env: app.Env,
		Concurrency: defaultConcurrency, RetryOn: RetryAll, Timeout: defaultTimeout,
	}
	if m := raw.Method; m != nil {
		b.Table, b.OutboxSchema = m.Table, m.Schema.full
		b.Concurrency, b.RetryOn, b.AllowAnyPath = m.Concurrency, RetryOn(m.RetryOn), m.AllowAnyPath
		if m.PartitionBy != "" {
			b.PartitionBy, b.PartitionConcurrency = m.PartitionBy, m.PartitionConcurrency
		}
	}
	if d := raw.Deploy; d != nil {
		b.Healthcheck, b.TimeoutOverridable = d.Healthcheck, d.TimeoutOverridable
		if d.Timeout != 0 {
			b.Timeout = time.Duration(d.Timeout) * time.Second
		}
	}
	for _, w := range raw.Workflows {
		b.Workflows = append(b.Workflows, Workflow{Binding: w.Binding, Class: w.Class})
	}
	b.BaseURL = l.baseURL(e)
	b.AuthToken = l.authToken(e, app.Env)
	b.Spec = l.spec(raw.Spec)
	l.lintOutbox(raw.Method)
	return b
}

// vars returns a lookup in the variables of an app.
func vars(env map[string]Secret) lookup {
	return func(name string) (string, bool) {
		value, ok := env[name]
		return value.Reveal(), ok
	}
}

func (l *loader) baseURL(e entry[rawApp]) *url.URL {
	ref := e.value.BaseURL
	if !ref.given() {
		return nil
	}
	text, ok := l.d.resolve(ref, l.env, nil)
	if !ok {
		return nil
	}
	if fault := urlFault(text, "http", "https"); fault != "" {
		l.d.fault(ref.at, fault, "write for instance http://127.0.0.1:3000")
		return nil
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil // urlFault has parsed it
	}
	return u
}

func (l *loader) authToken(e entry[rawApp], env map[string]Secret) Secret {
	if e.value.Auth == nil || !e.value.Auth.Token.given() {
		return Secret{}
	}
	ref := e.value.Auth.Token
	text, ok := l.d.resolve(ref, l.env, vars(env))
	if ok && !headerSafe(text) {
		l.d.fault(ref.at, "found a token that is empty or has a blank or control character, allowed: visible characters", "correct the token")
		return Secret{}
	}
	return NewSecret(text)
}

// spec reads the OpenAPI document, once for each file.
func (l *loader) spec(p filePath) *Spec {
	if !p.given() {
		return nil
	}
	content, err := readLimited(p.full, maxSpecSize)
	if err != nil {
		l.d.fault(p.at, "found the file "+quote(p.full)+": "+reason(err)+", allowed: an OpenAPI 3 document", "create the file or correct the path")
		return nil
	}
	s, err := ParseSpec(p.full, content)
	if err != nil {
		l.d.fault(p.at, "found a document that cannot be used, "+firstLine(err.Error())+", allowed: OpenAPI 3 in YAML or JSON", "correct the document")
		return nil
	}
	if len(s.routes) == 0 {
		l.d.warn(p.at, "found no POST route in "+quote(p.text)+", allowed: at least one, jobs are POST requests", "add a POST operation to the document")
	}
	return s
}

// checkApp holds one app against the rules of its type.
func (l *loader) checkApp(e entry[rawApp]) {
	raw, key := e.value, e.at.key
	has := func(name string) bool { return l.d.has(key + "." + name) }
	if raw.Hosting == "external" && !has("baseUrl") {
		l.lacks(e, "baseUrl", "an external app needs one")
	}
	switch AppKind(raw.Type) {
	case KindBackend:
		l.checkBackend(e, has)
	case KindFrontend:
		l.checkFrontend(e, has)
	}
	if AppKind(raw.Type) != KindBackend && raw.Type != "" && has("workflows") {
		l.d.fault(l.d.at(key+".workflows"), "found workflows of an app of type "+raw.Type+", allowed: workflows of a backend", "move them to a backend")
	}
}

// lacks reports a key that an app has to have.
func (l *loader) lacks(e entry[rawApp], name, why string) {
	at := e.at
	at.key += "." + name
	l.d.fault(at, "the key is missing, "+why, "add `"+name+":`")
}

func (l *loader) checkBackend(e entry[rawApp], has func(string) bool) {
	if Scope(e.value.Scope) != ScopeDev {
		if !has("spec") {
			l.lacks(e, "spec", "a backend needs an OpenAPI document")
		}
		if !has("method") {
			l.lacks(e, "method", "a backend needs an outbox")
		}
	}
	l.checkOutbox(e)
}

func (l *loader) checkFrontend(e entry[rawApp], has func(string) bool) {
	switch {
	case !has("deploy") && Scope(e.value.Scope) != ScopeDev:
		at := e.at
		at.key += ".deploy"
		l.d.warn(at, "the key is missing, the frontend will not be deployed", "add `deploy:`, or `scope: devOnly`")
	case has("deploy") && !has("deploy.dockerfile") && !has("deploy.static"):
		l.lacks(e, "deploy.dockerfile", "a frontend is deployed from one")
	}
}

// checkOutbox checks what a backend needs to get jobs.
func (l *loader) checkOutbox(e entry[rawApp]) {
	raw, key := e.value, e.at.key
	table, hasTable := key+".method.table", l.d.has(key+".method.table")
	if l.d.has(key+".workflows") && !hasTable {
		l.d.fault(l.d.at(key+".workflows"), "found workflows without an outbox, allowed: workflows of a backend with method.table", "add `method:` with `table:`")
	}
	if raw.Method == nil {
		return
	}
	if !hasTable {
		l.d.warn(l.d.at(table), "the key is missing, no jobs will run", "add `table:` with the name of the outbox table")
		return
	}
	if l.d.has(key+".method.partitionConcurrency") && !l.d.has(key+".method.partitionBy") {
		l.d.warn(l.d.at(key+".method.partitionConcurrency"), "found a number and nothing to part the jobs by, allowed: beside partitionBy", "add `partitionBy:` with the name of a column, or remove the key")
	}
	if !l.d.has(key+".baseUrl") && raw.Hosting != "external" {
		at := e.at
		at.key = key + ".baseUrl"
		l.d.warn(at, "the key is missing, the jobs of this backend will not run", "add `baseUrl:`, for instance http://127.0.0.1:3000")
	}
}

// checkTables finds outbox tables that two backends of one stage would share.
func (l *loader) checkTables() {
	taken := make(map[string][]entry[rawApp])
	for _, e := range l.raw.Apps {
		if e.value.Method == nil || e.value.Method.Table == "" {
			continue
		}
		table := e.value.Method.Table
		for _, earlier := range taken[table] {
			if Scope(earlier.value.Scope).meets(Scope(e.value.Scope)) {
				l.d.fault(l.d.at(e.at.key+".method.table"),
					fmt.Sprintf("found the table %s, which already belongs to %s, allowed: one table for each backend", table, describeEntry(earlier.at)),
					"give each backend a table of its own")
				break
			}
		}
		taken[table] = append(taken[table], e)
	}
}

// checkBindings finds bindings that are taken, in the same backend or in
// another one of the stage: an instance is found by its binding alone.
func (l *loader) checkBindings() {
	type owner struct {
		at    place
		scope Scope
	}
	taken := make(map[string][]owner)
	for _, e := range l.raw.Apps {
		scope := Scope(e.value.Scope)
		for _, w := range e.value.Workflows {
			if w.Binding == "" {
				continue
			}
			at := l.d.at(w.at.key + ".binding")
			for _, o := range taken[w.Binding] {
				if o.scope.meets(scope) {
					l.d.fault(at, fmt.Sprintf("found the binding %s, which is taken by %s, allowed: one workflow for each binding", w.Binding, describeEntry(o.at)), "rename one of the two")
					break
				}
			}
			taken[w.Binding] = append(taken[w.Binding], owner{at, scope})
		}
	}
}
