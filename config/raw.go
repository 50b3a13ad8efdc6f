package config

import "reflect"

// rawFile is sp00ky.yml as it is written. The fields of type ignored belong to
// the framework and not to us.
type rawFile struct {
	Mode      string                `yaml:"mode" validate:"oneof=singlenode cluster surrealism" allow:"singlenode, cluster"`
	Slug      string                `yaml:"slug" validate:"slug" allow:"lower-case letters, digits and inner dashes, at least two" fix:"rename it"`
	SurrealDB rawSurrealDB          `yaml:"surrealdb"`
	Schema    rawSchema             `yaml:"schema"`
	Apps      entries[rawApp]       `yaml:"apps"`
	Retention rawRetention          `yaml:"retention"`
	Schedules included[rawSchedule] `yaml:"schedules"`
	Workflows included[rawDAG]      `yaml:"workflows"`
	LogLevel  rawLogLevel           `yaml:"logLevel"`
	Buckets   []filePath            `yaml:"buckets"`

	Admin         rawAdmin   `yaml:"admin"`
	ShutdownGrace span       `yaml:"shutdownGrace"`
	Metrics       rawMetrics `yaml:"metrics"`
	Redact        []string   `yaml:"redact"`

	Version              ignored `yaml:"version"`
	ClientTypes          ignored `yaml:"clientTypes"`
	Deployment           ignored `yaml:"deployment"`
	CloudAPI             ignored `yaml:"cloudApi"`
	MigrationEngine      ignored `yaml:"migrationEngine"`
	SurrealKit           ignored `yaml:"surrealkit"`
	RefMode              ignored `yaml:"refMode"`
	AnonymousLiveQueries ignored `yaml:"anonymousLiveQueries"`
	Sync                 ignored `yaml:"sync"`
	Impersonation        ignored `yaml:"impersonation"`
	Pools                ignored `yaml:"pools"`
	Machines             ignored `yaml:"machines"`
}

// rawSurrealDB is the `surrealdb` key: a version, or an object.
type rawSurrealDB struct {
	Version   string    `yaml:"version" validate:"printing" allow:"an image tag such as v3.0.0"`
	Namespace string    `yaml:"namespace" validate:"printing" allow:"a name"`
	Database  string    `yaml:"database" validate:"printing" allow:"a name"`
	Username  reference `yaml:"username"`
	Password  reference `yaml:"password" secret:"true"`
	Hosting   string    `yaml:"hosting" validate:"oneof=cloud external"`
	Endpoint  reference `yaml:"endpoint"`
}

func (r *rawSurrealDB) decodeNode(d *decoder, at place) bool {
	if isText(at.node) {
		at.allow = "an image tag such as v3.0.0, or a mapping"
		value := reflect.ValueOf(&r.Version).Elem()
		return d.plain(at, value) && d.check(at, value, "printing")
	}
	if isScalar(at.node) {
		at.fix = "put the version in quotes"
	}
	at.allow = "a version as text, or a mapping"
	type object rawSurrealDB
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawSchema is the `schema` key: a directory, or an object.
type rawSchema struct {
	dir filePath

	Schema     filePath `yaml:"schema"`
	Migrations filePath `yaml:"migrations"`
	BucketsDir filePath `yaml:"bucketsDir"`
}

func (r *rawSchema) decodeNode(d *decoder, at place) bool {
	if isScalar(at.node) {
		at.allow = "a directory, or a mapping with schema, migrations, bucketsDir"
		return r.dir.decodeNode(d, at)
	}
	type object rawSchema
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawRetention is the `retention` key.
type rawRetention struct {
	Success     span   `yaml:"success"`
	Failed      span   `yaml:"failed"`
	RunSuccess  span   `yaml:"runSuccess"`
	RunFailed   span   `yaml:"runFailed"`
	RunDeadline span   `yaml:"runDeadline"`
	Audit       span   `yaml:"audit"`
	MaxRows     int    `yaml:"maxRows" validate:"min=0" allow:"a whole number, 0 for no limit"`
	Mode        string `yaml:"mode" validate:"oneof=all failures-only"`
}

// rawAdmin is the `admin` key.
type rawAdmin struct {
	Listen   reference       `yaml:"listen"`
	Tokens   []rawAdminToken `yaml:"tokens"`
	TraceURL reference       `yaml:"traceUrl"`
}

// rawAdminToken is a token with full scope, or an object that says which.
type rawAdminToken struct {
	at    place
	Label string    `yaml:"label" validate:"printing" allow:"a name"`
	Scope string    `yaml:"scope" validate:"oneof=read full"`
	Token reference `yaml:"token" need:"true" allow:"text, {vault: KEY}" secret:"true"`
}

func (r *rawAdminToken) decodeNode(d *decoder, at place) bool {
	r.at, r.Scope = at, "full"
	if isScalar(at.node) {
		at.secret, at.allow = true, "text, or a mapping with token, scope, label"
		return r.Token.decodeNode(d, at)
	}
	type object rawAdminToken
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}

// rawMetrics is the `metrics` key: a switch, or an object.
type rawMetrics struct {
	Enabled bool   `yaml:"enabled"`
	Listen  string `yaml:"listen" validate:"printing" allow:"host:port"`
}

func (r *rawMetrics) decodeNode(d *decoder, at place) bool {
	if isScalar(at.node) {
		at.allow = "true, false, or a mapping with enabled, listen"
		return d.plain(at, reflect.ValueOf(&r.Enabled).Elem())
	}
	type object rawMetrics
	return d.structure(at, reflect.ValueOf((*object)(r)).Elem())
}
