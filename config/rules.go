package config

import (
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/go-playground/validator/v10"
)

var (
	tablePattern     = regexp.MustCompile(`^[a-z][a-z0-9_]{0,63}$`)
	bindingPattern   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	partitionPattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
	startedPattern   = regexp.MustCompile(`^[A-Za-z0-9][^/\\\x00-\x1f\x7f-\x{9f}]{0,99}$`)
	slugPattern      = regexp.MustCompile(`^[a-z0-9][a-z0-9-]*[a-z0-9]$`)
	redactPattern    = regexp.MustCompile(`^[^.\s*\[\]$/]+(\.[^.\s*\[\]$/]+|\.\*)*$|^\*(\.[^.\s*\[\]$/]+|\.\*)+$`)
)

// runnersColumns are what the runner writes into a job.
var runnersColumns = []string{
	"id", "status", "run_at", "retries", "errors", "result", "updated_at", "assignee", "lease_until", "lease_epoch",
	"cancel_requested", "newest", "listed", "parked", "partition_slot",
}

// newRules returns a validator that knows the rules which are our own.
func newRules() *validator.Validate {
	v := validator.New(validator.WithRequiredStructEnabled())
	for name, holds := range map[string]func(string) bool{
		"table":     tablePattern.MatchString,
		"binding":   bindingPattern.MatchString,
		"slug":      slugPattern.MatchString,
		"printing":  printing,
		"partition": isPartition,
		"route":     func(s string) bool { return strings.HasPrefix(s, "/") && printing(s) },
		"timezone":  func(s string) bool { return loadZone(s) == nil },
		"cron":      func(s string) bool { return cronFault(s) == "" },
	} {
		err := v.RegisterValidation(name, func(fl validator.FieldLevel) bool {
			return holds(fl.Field().String())
		})
		if err != nil {
			panic("config: register rule: " + err.Error())
		}
	}
	return v
}

// isPartition reports whether jobs may be parted by a column: a path of names, and
// none of those that the runner changes while a job runs.
func isPartition(path string) bool {
	column, _, _ := strings.Cut(path, ".")
	return partitionPattern.MatchString(path) && !slices.Contains(runnersColumns, column)
}

// printing reports whether a text has something in it and no control
// characters.
func printing(text string) bool {
	return strings.TrimSpace(text) != "" && strings.IndexFunc(text, unicode.IsControl) < 0
}

// check holds a decoded value against the rules of its tag.
func (d *decoder) check(at place, value reflect.Value, rules string) bool {
	if rules == "" {
		return true
	}
	err := d.rules.Var(value.Interface(), rules)
	if err == nil {
		return true
	}
	var faults validator.ValidationErrors
	if !errors.As(err, &faults) || len(faults) == 0 {
		panic(fmt.Sprintf("config: rules %q: %v", rules, err))
	}
	tag, param := faults[0].Tag(), faults[0].Param()
	allowed := at.allow
	if allowed == "" {
		allowed = strings.Join(strings.Fields(param), ", ") // of oneof; other rules come with a text
	}
	at.node = deref(at.node)
	found := at.describe()
	if at.secret {
		found = "a value that breaks the rule"
	}
	if tag == "cron" {
		found += " with " + cronFault(value.String())
	}
	d.fault(at, "found "+found+", allowed: "+allowed, remedyFor(at, tag, param, allowed))
	return false
}

func remedyFor(at place, tag, param, allowed string) string {
	if at.fix != "" {
		return at.fix
	}
	if tag == "oneof" {
		if best := nearest(at.node.Value, strings.Fields(param)); best != "" {
			return "did you mean `" + best + "`?"
		}
		return "use one of the allowed values"
	}
	return "give it " + allowed
}
