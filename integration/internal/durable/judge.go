package durable

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// Seen is what the functions of a case noted while they ran.
type Seen struct {
	// Binding is the workflow's.
	Binding string
	// Attempts are those that the functions of each step saw, Counts how often each label was passed.
	Attempts map[string][]int
	Counts   map[string]int
	// Faults are what was not the same in every run of one incarnation.
	Faults []string
}

// A judgement holds an instance against what was expected of it.
type judgement struct {
	*Base
	saw Seen
}

// Judge waits for the instance's end and holds it against what was expected. saw is asked then.
func (b *Base) Judge(id string, want Expectation, saw func() Seen) {
	b.T.Helper()
	b.Poll("instance "+id+" is "+want.Status, func() (bool, any) {
		row := b.Instance(id)
		return row.Status == want.Status, row
	})
	d := judgement{b, saw()}
	row := d.Instance(id)
	d.instance(row, want)
	d.functions(row, want)
	if want.Steps != nil {
		d.steps(d.Steps(id), *want.Steps)
	}
	d.Consistent(id)
}

func (d judgement) instance(row InstanceRow, want Expectation) {
	d.T.Helper()
	if want.Output != nil {
		d.equal("the output", row.Output, *want.Output)
	}
	if want.Error != nil {
		d.error("the instance", row.Error, want.Error)
	}
	if want.Error == nil && want.Status == "complete" && row.Error != nil {
		d.T.Errorf("a complete instance has the error %+v", row.Error)
	}
	if lasted := row.FinishedAt.Sub(row.CreatedAt); lasted < time.Duration(want.AtLeastMS)*time.Millisecond {
		d.T.Errorf("it lasted %s, at least %d ms were due", lasted, want.AtLeastMS)
	}
	if want.StepsDone != nil && row.StepsDone != *want.StepsDone {
		d.T.Errorf("steps_done is %d, want %d", row.StepsDone, *want.StepsDone)
	}
	if row.Warning != nil {
		d.T.Errorf("a false warning: %v", row.Warning)
	}
}

func (d judgement) functions(row InstanceRow, want Expectation) {
	d.T.Helper()
	if want.Seen != nil && !reflect.DeepEqual(d.saw.Attempts, want.Seen) {
		d.T.Errorf("the functions saw the attempts %v, want %v", d.saw.Attempts, want.Seen)
	}
	for label, least := range want.CountsAtLeast {
		if n := d.saw.Counts[label]; n < least {
			d.T.Errorf("%q was passed %d times, want at least %d", label, n, least)
		}
	}
	if len(d.saw.Faults) > 0 && row.Incarnation == 0 {
		d.T.Errorf("not the same in every run: %v", d.saw.Faults)
	}
}

func (d judgement) steps(steps map[string]StepRow, want map[string]ExpectedStep) {
	d.T.Helper()
	for key := range steps {
		if _, ok := want[key]; !ok {
			d.T.Errorf("there is a step %q", key)
		}
	}
	for key, w := range want {
		s, ok := steps[key]
		if !ok {
			d.T.Errorf("there is no step %q", key)
			continue
		}
		d.step(key, s, w)
	}
}

func (d judgement) step(key string, s StepRow, w ExpectedStep) {
	d.T.Helper()
	if s.Status != w.Status {
		d.T.Errorf("%s is %s, want %s", key, s.Status, w.Status)
	}
	if w.Output != nil {
		d.equal("the output of "+key, s.Output, *w.Output)
	}
	if w.Error != nil {
		d.error(key, s.Error, w.Error)
	}
	if w.Config != nil {
		d.equal("the config of "+key, s.Config, Must(json.Marshal(w.Config)))
	}
	if w.WaitMS > 0 && (s.WakeAt == nil || s.WakeAt.Sub(s.StartedAt).Milliseconds() != w.WaitMS) {
		d.T.Errorf("%s waits from %s to %v, want %d ms", key, s.StartedAt, s.WakeAt, w.WaitMS)
	}
	if w.Attempts != nil && (len(s.Attempts) != len(w.Attempts) || s.Before != w.Before) {
		d.T.Errorf("%s has the attempts %+v after %d others, want %d after %d", key, s.Attempts, s.Before, len(w.Attempts), w.Before)
		return
	}
	for i, attempt := range w.Attempts {
		d.error(fmt.Sprintf("attempt %d of %s", i+1, key), s.Attempts[i].Error, attempt)
		if s.Attempts[i].EndedAt == nil {
			d.T.Errorf("attempt %d of %s has no end", i+1, key)
		}
	}
	for i, least := range w.GapsAtLeastMS {
		if gap := s.Attempts[i+1].StartedAt.Sub(*s.Attempts[i].EndedAt); gap < time.Duration(least)*time.Millisecond {
			d.T.Errorf("%s between the attempts %d and %d of %s, want at least %d ms", gap, i+1, i+2, key, least)
		}
	}
}

func (d judgement) error(what string, got *ErrorRow, want *ExpectedError) {
	d.T.Helper()
	switch {
	case want == nil && got != nil:
		d.T.Errorf("%s has the error %+v", what, *got)
	case want == nil:
	case got == nil:
		d.T.Errorf("%s has no error", what)
	case want.Name != "" && got.Name != want.Name,
		want.Message != nil && got.Message != *want.Message,
		want.Has != "" && !regexp.MustCompile(want.Has).MatchString(got.Message):
		d.T.Errorf("%s has the error %+v, want %+v", what, *got, *want)
	}
}

// Equal compares a stored value with JSON, in which {"$has": …} stands for any text that matches.
func (b *Base) Equal(what string, got any, want json.RawMessage) {
	b.T.Helper()
	judgement{Base: b}.equal(what, got, want)
}

// equal compares a stored value with JSON, in which {"$has": …} stands for any text that matches, and
// {"$binding": true} for the workflow's.
func (d judgement) equal(what string, got any, want json.RawMessage) {
	d.T.Helper()
	var g, w any
	Check(d.T, json.Unmarshal(Must(surreal.ToJSON(got)), &g))
	Check(d.T, json.Unmarshal(want, &w))
	if !d.fits(g, w) {
		d.T.Errorf("%s is %.300v, want %.300s", what, g, want)
	}
}

func (d judgement) fits(got, want any) bool {
	switch w := want.(type) {
	case map[string]any:
		if pattern, ok := w["$has"].(string); ok {
			text, isText := got.(string)
			return isText && regexp.MustCompile(pattern).MatchString(text)
		}
		if w["$binding"] == true {
			return got == d.saw.Binding
		}
		g, ok := got.(map[string]any)
		if !ok || len(g) != len(w) {
			return false
		}
		for key := range w {
			if _, there := g[key]; !there || !d.fits(g[key], w[key]) {
				return false
			}
		}
		return true
	case []any:
		g, ok := got.([]any)
		return ok && slices.EqualFunc(g, w, d.fits)
	}
	return reflect.DeepEqual(got, want)
}
