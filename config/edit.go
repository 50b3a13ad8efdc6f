package config

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"gopkg.in/yaml.v3"
)

// ErrAppExists is returned by AddAPI for a name that apps already has.
var ErrAppExists = errors.New("an app of this name exists")

// AddAPIOptions describe the backend that AddAPI adds.
type AddAPIOptions struct {
	// Name defaults to "api".
	Name string
	// Spec is the path of the OpenAPI document. It is mandatory.
	Spec string
	// BaseURL defaults to http://localhost:3000.
	BaseURL string
	// AuthType defaults to "token" when there is an AuthToken.
	AuthType string
	// AuthToken is the token or, better, a ${VAR}. Without one the app has no
	// auth.
	AuthToken string
	// Table defaults to "job".
	Table string
	// SchemaPath is the path of the outbox schema. Defaults to
	// ./src/outbox/<name>.surql.
	SchemaPath string
}

func (o AddAPIOptions) withDefaults() AddAPIOptions {
	set := func(field *string, value string) {
		if *field == "" {
			*field = value
		}
	}
	set(&o.Name, "api")
	set(&o.BaseURL, "http://localhost:3000")
	set(&o.Table, "job")
	set(&o.SchemaPath, "./src/outbox/"+o.Name+".surql")
	if o.AuthToken != "" {
		set(&o.AuthType, "token")
	}
	return o
}

func (o AddAPIOptions) check() error {
	for _, option := range []struct{ name, text string }{
		{"name", o.Name}, {"spec", o.Spec}, {"base URL", o.BaseURL}, {"schema path", o.SchemaPath},
	} {
		if !printing(option.text) {
			return fmt.Errorf("%s is empty or has a control character", option.name)
		}
	}
	if err := CheckTable(o.Table); err != nil {
		return err
	}
	if o.AuthType != "" && o.AuthType != "token" {
		return fmt.Errorf("auth type %s is unknown, allowed: token", quote(o.AuthType))
	}
	if o.AuthType != "" && !printing(o.AuthToken) {
		return errors.New("auth token is empty or has a control character")
	}
	if !strings.Contains(o.BaseURL, "${") {
		if fault := urlFault(o.BaseURL, "http", "https"); fault != "" {
			return errors.New("base URL: " + fault)
		}
	}
	return nil
}

// CheckTable returns an error for a name that no outbox table may have.
func CheckTable(name string) error {
	if !tablePattern.MatchString(name) {
		return fmt.Errorf("table name %s is not made of at most 64 lower-case letters, digits and _, starting with a letter", quote(name))
	}
	return nil
}

// AddAPI returns sp00ky.yml with one more backend under apps. Every byte of src
// stays as it is, comments, line ends, unknown keys and flow style included;
// the app is inserted behind the last one. A file without apps gets them, an
// empty file becomes a minimal one.
//
// It is an error when the file does not parse, when apps is no mapping, when
// the name is taken (ErrAppExists) or when an option is unusable. What AddAPI
// returns always parses to what src says plus the app.
func AddAPI(src []byte, o AddAPIOptions) ([]byte, error) {
	o = o.withDefaults()
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("add api: %w", err)
	}
	d := newDecoder()
	root := d.parse(&source{name: DefaultFile}, src)
	for _, f := range d.findings {
		if f.Severity == SeverityError {
			return nil, fmt.Errorf("add api: %s", f)
		}
	}
	e := editor{src: src, root: root, app: o, eol: lineEnd(src)}
	candidates, err := e.candidates()
	if err != nil {
		return nil, fmt.Errorf("add api: %w", err)
	}
	for _, c := range candidates {
		if e.adds(c) {
			return c, nil
		}
	}
	return nil, errors.New("add api: the file is written in a way that cannot be extended safely; add the app by hand")
}

// tableUser names the app whose outbox a table is, or "".
func tableUser(apps *yaml.Node, table string) string {
	for i := 0; i+1 < len(apps.Content); i += 2 {
		method := child(apps.Content[i+1], "method")
		if method == nil {
			continue
		}
		if t := child(method, "table"); t != nil && t.Value == table {
			return apps.Content[i].Value
		}
	}
	return ""
}

// editor inserts one app into the text of a file.
type editor struct {
	src  []byte
	root *yaml.Node
	app  AddAPIOptions
	eol  string
}

func lineEnd(src []byte) string {
	if i := bytes.IndexByte(src, '\n'); i > 0 && src[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// candidates returns the texts that may be the wanted one, the nicest first.
func (e *editor) candidates() ([][]byte, error) {
	key, apps := e.find()
	inFlow := e.root.Style&yaml.FlowStyle != 0
	switch {
	case apps == nil && inFlow:
		return e.intoFlow(e.root, "apps: {"+e.flowApp()+"}"), nil
	case apps == nil:
		return e.newSection(), nil
	case apps.Kind == yaml.AliasNode:
		return nil, errors.New("apps is an alias")
	case isNull(apps) && !inFlow:
		return e.underKey(key, apps.Value), nil
	case apps.Kind != yaml.MappingNode:
		return nil, fmt.Errorf("apps is %s, not a mapping", describe(apps))
	case child(apps, e.app.Name) != nil:
		return nil, fmt.Errorf("apps.%s: %w", e.app.Name, ErrAppExists)
	case tableUser(apps, e.app.Table) != "":
		return nil, fmt.Errorf("table %s belongs to apps.%s already, and a table has one backend; choose another with --table", e.app.Table, tableUser(apps, e.app.Table))
	case len(apps.Content) == 0 && !inFlow:
		return append(e.underKey(key, "{}"), e.intoFlow(apps, e.flowApp())...), nil
	case apps.Style&yaml.FlowStyle != 0:
		return e.intoFlow(apps, e.flowApp()), nil
	}
	return e.behindApps(apps), nil
}

// find returns the key and value node of apps, nil without it.
func (e *editor) find() (key, value *yaml.Node) {
	for i := 0; i+1 < len(e.root.Content); i += 2 {
		if e.root.Content[i].Value == "apps" {
			return e.root.Content[i], e.root.Content[i+1]
		}
	}
	return nil, nil
}

// adds reports whether text says what the source says plus the app.
func (e *editor) adds(text []byte) bool {
	var before, after map[string]any
	if yaml.Unmarshal(e.src, &before) != nil || yaml.Unmarshal(text, &after) != nil {
		return false
	}
	apps, ok := after["apps"].(map[string]any)
	if !ok || !reflect.DeepEqual(apps[e.app.Name], e.wanted()) {
		return false
	}
	delete(apps, e.app.Name)
	if len(apps) == 0 && emptyApps(before["apps"]) {
		delete(after, "apps")
		delete(before, "apps")
	}
	return len(before) == 0 && len(after) == 0 || reflect.DeepEqual(before, after)
}

func emptyApps(apps any) bool {
	m, isMap := apps.(map[string]any)
	return apps == nil || isMap && len(m) == 0
}

// wanted is the app as a YAML parser sees it.
func (e *editor) wanted() map[string]any {
	app := map[string]any{
		"type": "backend", "spec": e.app.Spec, "baseUrl": e.app.BaseURL,
		"method": map[string]any{"type": "outbox", "table": e.app.Table, "schema": e.app.SchemaPath},
	}
	if e.app.AuthType != "" {
		app["auth"] = map[string]any{"type": e.app.AuthType, "token": e.app.AuthToken}
	}
	return app
}

// blockApp is the app in block style, with its key at an indentation and its
// contents step deeper.
func (e *editor) blockApp(indent, step string) string {
	lines := []string{
		blockText(e.app.Name) + ":",
		step + "type: backend",
		step + "spec: " + blockText(e.app.Spec),
		step + "baseUrl: " + blockText(e.app.BaseURL),
	}
	if e.app.AuthType != "" {
		lines = append(lines, step+"auth:", step+step+"type: "+e.app.AuthType, step+step+"token: "+blockText(e.app.AuthToken))
	}
	lines = append(lines, step+"method:", step+step+"type: outbox",
		step+step+"table: "+blockText(e.app.Table), step+step+"schema: "+blockText(e.app.SchemaPath))
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(indent + line + e.eol)
	}
	return b.String()
}

// flowApp is the app in flow style.
func (e *editor) flowApp() string {
	auth := ""
	if e.app.AuthType != "" {
		auth = ", auth: {type: " + e.app.AuthType + ", token: " + flowText(e.app.AuthToken) + "}"
	}
	return flowText(e.app.Name) + ": {type: backend, spec: " + flowText(e.app.Spec) + ", baseUrl: " + flowText(e.app.BaseURL) + auth +
		", method: {type: outbox, table: " + flowText(e.app.Table) + ", schema: " + flowText(e.app.SchemaPath) + "}}"
}

// blockText is a text as a scalar in block style, quoted when it has to be.
func blockText(text string) string {
	var plain map[string]any
	if err := yaml.Unmarshal([]byte("k: "+text+"\n"), &plain); err == nil && len(plain) == 1 && plain["k"] == text && !strings.Contains(text, ": ") {
		return text
	}
	return quotedText(text)
}

var plainInFlow = regexp.MustCompile(`^[A-Za-z./_][A-Za-z0-9./_-]*$`)

// flowText is a text as a scalar in flow style, quoted unless it is plainly a
// word or path.
func flowText(text string) string {
	if plainInFlow.MatchString(text) && blockText(text) == text {
		return text
	}
	return quotedText(text)
}

// quotedText puts a text without control characters in double quotes.
func quotedText(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}
