package config

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// logLevels are the levels of the log directives, most talkative first.
var logLevels = []string{"trace", "debug", "info", "warn", "error", "off"}

const defaultLogLevel = "info"

// LogLevel is the `logLevel` key: directives such as "info" or
// "warn,outbox=debug", a comma-separated list of `level` and `target=level`
// items, for each stage.
type LogLevel struct {
	// Dev and Cloud both default to "info".
	Dev, Cloud string
}

// For returns the directives of a stage. StageAny counts as StageDev.
func (l LogLevel) For(s Stage) string {
	if s == StageCloud {
		return l.Cloud
	}
	return l.Dev
}

// ParseLogLevel splits directives into the level for everything and the levels
// of single targets. The default level is info when the list names none.
func ParseLogLevel(directives string) (level string, targets map[string]string, err error) {
	level, targets = defaultLogLevel, make(map[string]string)
	for item := range strings.SplitSeq(directives, ",") {
		item = strings.TrimSpace(item)
		target, name, hasTarget := strings.Cut(item, "=")
		if !hasTarget {
			target, name = "", item
		}
		switch {
		case item == "":
			return "", nil, fmt.Errorf("log level list has an empty item")
		case !slices.Contains(logLevels, name):
			return "", nil, fmt.Errorf("log level %s is unknown", quote(name))
		case hasTarget && target == "":
			return "", nil, fmt.Errorf("log level item %s has no target", quote(item))
		case hasTarget:
			targets[target] = name
		default:
			level = name
		}
	}
	return level, targets, nil
}

// logDirectives is one list of directives in the file.
type logDirectives string

func (l *logDirectives) decodeNode(d *decoder, at place) bool {
	at.allow = "a list of `level` or `target=level`, with the levels " + strings.Join(logLevels, ", ")
	at.fix = "write for instance info, or warn,outbox=debug"
	if !isText(at.node) {
		return d.mismatch(at, "text")
	}
	if _, _, err := ParseLogLevel(at.node.Value); err != nil {
		return d.mismatch(at, "text")
	}
	*l = logDirectives(at.node.Value)
	return true
}

// rawLogLevel is the `logLevel` key: directives, or directives for each stage.
type rawLogLevel struct {
	Dev   logDirectives `yaml:"dev"`
	Cloud logDirectives `yaml:"cloud"`
}

func (r *rawLogLevel) decodeNode(d *decoder, at place) bool {
	if isScalar(at.node) {
		var both logDirectives
		if !both.decodeNode(d, at) {
			return false
		}
		r.Dev, r.Cloud = both, both
		return true
	}
	type object rawLogLevel
	if !d.structure(at, reflect.ValueOf((*object)(r)).Elem()) {
		return false
	}
	if len(at.node.Content) == 0 {
		d.fault(at, "found an empty mapping, allowed: dev, cloud", "give at least one of the two")
		return false
	}
	return true
}
