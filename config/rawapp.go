package config

import (
	"path/filepath"
	"reflect"

	"gopkg.in/yaml.v3"
)

// appFileName is the file that the reference form of an app (`path:`) reads.
const appFileName = "sp00ky.app.yml"

// rawApp is `apps.<name>` with the keys of every kind of app.
type rawApp struct {
	Type      string       `yaml:"type" need:"true" validate:"oneof=backend frontend docker" allow:"backend, frontend, docker"`
	Path      filePath     `yaml:"path"`
	Scope     string       `yaml:"scope" validate:"oneof=all devOnly cloudOnly"`
	Hosting   string       `yaml:"hosting" validate:"oneof=cloud external"`
	Spec      filePath     `yaml:"spec"`
	BaseURL   reference    `yaml:"baseUrl"`
	Auth      *rawAuth     `yaml:"auth"`
	Method    *rawMethod   `yaml:"method"`
	Workflows []rawBinding `yaml:"workflows"`
	Dev       *rawDev      `yaml:"dev"`
	Deploy    *rawDeploy   `yaml:"deploy"`
	Env       rawEnv       `yaml:"env"`

	RunOn       ignored `yaml:"runOn"`
	Worker      ignored `yaml:"worker"`
	Image       ignored `yaml:"image"`
	Ports       ignored `yaml:"ports"`
	Args        ignored `yaml:"args"`
	Volumes     ignored `yaml:"volumes"`
	Workdir     ignored `yaml:"workdir"`
	DependsOn   ignored `yaml:"dependsOn"`
	Healthcheck ignored `yaml:"healthcheck"`

	dir string // where relative commands of the app run
}

func (r *rawApp) decodeNode(d *decoder, at place) bool {
	if at.node.Kind != yaml.MappingNode {
		at.fix = "give the app at least a `type:`"
		return d.mismatch(at, "a mapping")
	}
	r.dir = at.src.dir
	pairs, complete := d.pairs(at.src, at.node), true
	if i := indexOf(pairs, "path"); i >= 0 {
		pairs, complete = d.withAppFile(r, at, pairs, pairs[i])
	}
	r.Scope, r.Hosting = "all", "cloud"
	type object rawApp
	value := reflect.ValueOf((*object)(r)).Elem()
	d.fields(at, pairs, value)
	if complete {
		d.missing(at, pairs, value.Type())
	}
	return complete
}

// withAppFile adds to the pairs of an app those of its sp00ky.app.yml, and
// reports whether it could be read. A key beside `path` replaces the one of the
// file as a whole.
func (d *decoder) withAppFile(r *rawApp, at place, pairs []pair, dir pair) ([]pair, bool) {
	here := place{src: dir.src, node: deref(dir.value), key: joinKey(at.key, "path")}
	if !isText(here.node) || !printing(here.node.Value) {
		return pairs, false // reported when the field is decoded
	}
	r.dir = here.src.resolve(here.node.Value)
	src := newSource(filepath.Join(r.dir, appFileName))
	root := d.include(here, src)
	if root == nil {
		return pairs, false
	}
	for _, p := range d.pairs(src, root) {
		if p.key.Value != "path" && !hasPair(pairs, p.key.Value) {
			pairs = append(pairs, p)
		}
	}
	return pairs, true
}

// include reads a YAML file that the value at a place refers to and returns its
// root, or nil after reporting why not.
func (d *decoder) include(at place, src *source) *yaml.Node {
	content, err := readLimited(src.name, maxFileSize)
	if err != nil {
		d.fault(at, "found the file "+quote(src.name)+": "+reason(err)+", allowed: a readable YAML file", "create the file or correct the path")
		return nil
	}
	return d.parse(src, content)
}

func indexOf(pairs []pair, key string) int {
	for i, p := range pairs {
		if p.key.Value == key {
			return i
		}
	}
	return -1
}

// rawAuth is `auth`.
type rawAuth struct {
	Type  string    `yaml:"type" validate:"oneof=token"`
	Token reference `yaml:"token" need:"true" secret:"true" allow:"text, {vault: KEY}"`
}

func (r *rawAuth) decodeNode(d *decoder, at place) bool {
	type object rawAuth
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawMethod is `method`.
type rawMethod struct {
	Type         string   `yaml:"type" need:"true" validate:"oneof=outbox" allow:"outbox"`
	Schema       filePath `yaml:"schema" need:"true" allow:"the path of the outbox .surql"`
	Table        string   `yaml:"table" validate:"table" allow:"lower-case letters, digits and _, starting with a letter, at most 64" fix:"rename the table, for instance to job"`
	Concurrency  int      `yaml:"concurrency" validate:"min=1,max=10000" allow:"a whole number from 1 to 10000" fix:"give it such a number, or remove the key for the default 16"`
	RetryOn      string   `yaml:"retryOn" validate:"oneof=all transient"`
	AllowAnyPath bool     `yaml:"allowAnyPath"`

	PartitionBy          string `yaml:"partitionBy" validate:"partition,max=128" allow:"a column that the runner does not write, or a path of names below one, at most 128 characters" fix:"name a column such as assigned_to, or a path such as payload.tenant"`
	PartitionConcurrency int    `yaml:"partitionConcurrency" validate:"min=1,max=1000" allow:"a whole number from 1 to 1000" fix:"give it such a number, or remove the key for the default 1"`
}

func (r *rawMethod) decodeNode(d *decoder, at place) bool {
	r.Concurrency, r.RetryOn, r.PartitionConcurrency = defaultConcurrency, string(RetryAll), defaultPartition
	type object rawMethod
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawBinding is one item of `apps.<name>.workflows`.
type rawBinding struct {
	at      place
	Binding string `yaml:"binding" need:"true" validate:"binding,max=64" allow:"letters, digits and _, not starting with a digit, at most 64" fix:"rename the binding, for instance to INGEST"`
	Class   string `yaml:"class" need:"true" validate:"printing" allow:"the name of the exported class" fix:"name the class"`
}

func (r *rawBinding) decodeNode(d *decoder, at place) bool {
	r.at = at
	type object rawBinding
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawDeploy is `deploy`.
type rawDeploy struct {
	at                 place
	Dockerfile         filePath     `yaml:"dockerfile"`
	Context            filePath     `yaml:"context"`
	Port               int          `yaml:"port" validate:"min=1,max=65535" allow:"a port from 1 to 65535"`
	Expose             bool         `yaml:"expose"`
	Resources          rawResources `yaml:"resources"`
	Healthcheck        string       `yaml:"healthcheck" validate:"route" allow:"a path that starts with /"`
	Timeout            int          `yaml:"timeout" validate:"min=1,max=3600" allow:"a whole number of seconds from 1 to 3600" fix:"give it such a number, or remove the key for the default 10"`
	TimeoutOverridable bool         `yaml:"timeoutOverridable"`

	Command   ignored `yaml:"cmd"`
	BuildArgs ignored `yaml:"build_args"`
	Static    ignored `yaml:"static"`
	GRPCPort  ignored `yaml:"grpc_port"`
}

func (r *rawDeploy) decodeNode(d *decoder, at place) bool {
	r.at = at
	type object rawDeploy
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawResources is `deploy.resources`, checked but not used.
type rawResources struct {
	VCPUs  int `yaml:"vcpus" validate:"min=1" allow:"a whole number of at least 1"`
	Memory int `yaml:"memory" validate:"min=128" allow:"a whole number of at least 128 (MB)"`
	Disk   int `yaml:"disk" validate:"min=1" allow:"a whole number of at least 1 (GB)"`
}

// rawDev is `dev`: a command line, or an object.
type rawDev struct {
	command string

	Type    string   `yaml:"type" need:"true" validate:"oneof=npm docker uv" allow:"npm, docker, uv"`
	Script  string   `yaml:"script" validate:"printing" allow:"the name of a script"`
	File    filePath `yaml:"file"`
	Workdir filePath `yaml:"workdir"`
	Port    int      `yaml:"port" validate:"min=1,max=65535" allow:"a port from 1 to 65535"`
}

func (r *rawDev) decodeNode(d *decoder, at place) bool {
	if isScalar(at.node) {
		at.allow = "a command line, or a mapping with type npm, docker or uv"
		value := reflect.ValueOf(&r.command).Elem()
		return d.plain(at, value) && d.check(at, value, "required")
	}
	type object rawDev
	if !d.structure(at, reflect.ValueOf((*object)(r)).Elem()) {
		return false
	}
	needed := map[string]string{"npm": "script", "uv": "script", "docker": "file"}[r.Type]
	if needed != "" && !d.has(joinKey(at.key, needed)) {
		at.key = joinKey(at.key, needed)
		d.fault(at, "the key is missing, it is needed for type "+r.Type, "add `"+needed+":`")
	}
	return true
}
