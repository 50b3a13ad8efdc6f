package config

import "reflect"

// ToJSON returns what a JSON Schema validator would see of a YAML text, and
// whether the text parses.
func ToJSON(content []byte) (any, bool) {
	d := newDecoder()
	root := d.parse(&source{name: "test"}, content)
	for _, f := range d.findings {
		if f.Severity == SeverityError {
			return nil, false
		}
	}
	return d.json(place{src: &source{}, node: root})
}

// KnownKeys returns the keys of the structs that the file is read into, by the
// name of the struct.
func KnownKeys() map[string][]string {
	keys := make(map[string][]string)
	for _, t := range []reflect.Type{
		reflect.TypeFor[rawFile](), reflect.TypeFor[rawSurrealDB](), reflect.TypeFor[rawSchema](), reflect.TypeFor[rawRetention](),
		reflect.TypeFor[rawAdmin](), reflect.TypeFor[rawAdminToken](), reflect.TypeFor[rawMetrics](), reflect.TypeFor[rawLogLevel](),
		reflect.TypeFor[rawApp](), reflect.TypeFor[rawAuth](), reflect.TypeFor[rawMethod](), reflect.TypeFor[rawBinding](),
		reflect.TypeFor[rawDeploy](), reflect.TypeFor[rawResources](), reflect.TypeFor[rawDev](),
		reflect.TypeFor[rawSchedule](), reflect.TypeFor[rawForEach](), reflect.TypeFor[rawRetry](), reflect.TypeFor[rawHistory](),
		reflect.TypeFor[rawDAG](), reflect.TypeFor[rawTrigger](), reflect.TypeFor[rawStep](),
	} {
		for name := range fieldsOf(t) {
			keys[t.Name()] = append(keys[t.Name()], name)
		}
	}
	return keys
}
