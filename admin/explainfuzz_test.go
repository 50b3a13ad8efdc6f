package admin

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/surreal"
)

// TestAnyFactsAreExplained makes up facts that no database would give together, and some that it might.
func TestAnyFactsAreExplained(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		facts := anyInstance(t)
		for _, causes := range [][]Cause{facts.causes(), anyJob(t, facts.nodeFacts).causes()} {
			if len(causes) == 0 {
				t.Fatal("nothing is explained")
			}
			for _, c := range causes {
				if !slices.Contains(CauseCodes(), c.Code) || !strings.HasSuffix(c.Sentence, ".") ||
					strings.ContainsAny(c.Sentence+c.Remedy, "\n\r\x1b\u202e") || len(c.Sentence) > 4000 {
					t.Fatalf("cause %+v", c)
				}
				if _, err := json.Marshal(c); err != nil {
					t.Fatalf("cause %+v: %v", c, err)
				}
			}
		}
	})
}

var (
	noon    = time.Date(2026, 5, 6, 12, 0, 0, 0, time.UTC)
	anyText = rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "api", "a\nb", "\x1b[31m", "\u202etxet", strings.Repeat("x", 500), "no such instance"}))
)

func anyMoment(t *rapid.T) *time.Time {
	if rapid.Bool().Draw(t, "unknown") {
		return nil
	}
	at := noon.Add(time.Duration(rapid.Int64Range(-100_000, 100_000).Draw(t, "seconds")) * time.Second)
	return &at
}

func anyNodes(t *rapid.T) nodeFacts {
	f := nodeFacts{Now: noon}
	for range rapid.IntRange(0, 3).Draw(t, "nodes") {
		n := explainedNode{Node: anyText.Draw(t, "node"), Draining: rapid.Bool().Draw(t, "draining"), HeartbeatAt: noon.Add(-time.Duration(rapid.IntRange(0, 20).Draw(t, "silent")) * time.Second)}
		for range rapid.IntRange(0, 2).Draw(t, "backends") {
			n.Backends = append(n.Backends, explainedBackend{
				Name: anyText.Draw(t, "backend"), Table: rapid.SampledFrom([]string{"job", "other"}).Draw(t, "table"), Slots: rapid.IntRange(0, 3).Draw(t, "slots"), Busy: rapid.IntRange(0, 3).Draw(t, "busy"),
				Feed: rapid.Bool().Draw(t, "feed"), Circuit: rapid.SampledFrom([]string{"", "open", "closed"}).Draw(t, "circuit"), CircuitSince: anyMoment(t), CircuitReason: anyText.Draw(t, "reason"), Refused: anyText.Draw(t, "refused"),
			})
		}
		f.Nodes = append(f.Nodes, n)
	}
	return f
}

func anyJob(t *rapid.T, nodes nodeFacts) jobFacts {
	f := jobFacts{nodeFacts: nodes, id: surreal.NewRecordID("job", anyText.Draw(t, "key")), found: true, ahead: rapid.SampledFrom([]int{0, 1, 7, maxAhead}).Draw(t, "ahead")}
	if rapid.Bool().Draw(t, "configured") {
		f.backends = []config.Backend{{Name: "api", Table: rapid.SampledFrom([]string{"job", "other"}).Draw(t, "table")}}
		f.backend = &f.backends[0]
	}
	f.row = explainedJob{
		Status: string(rapid.SampledFrom(append(outbox.Statuses(), "", "odd\n")).Draw(t, "status")), Path: anyText.Draw(t, "path"), Retries: rapid.IntRange(0, 7).Draw(t, "retries"), Attempts: rapid.IntRange(1, 5).Draw(t, "attempts"),
		Delay: rapid.Int64Range(-5, 1e10).Draw(t, "delay"), CreatedAt: anyMoment(t), UpdatedAt: anyMoment(t), RunAt: anyMoment(t), Assignee: anyText.Draw(t, "assignee"), LeaseUntil: anyMoment(t), CancelRequested: anyMoment(t), Instance: anyText.Draw(t, "instance"),
	}
	if rapid.Bool().Draw(t, "failed") {
		f.row.Last = &lastFailure{Code: rapid.SampledFrom([]string{"", "0", "404", "401", "500", "refused", "cancelled", "lease_expired"}).Draw(t, "code"), Reason: anyText.Draw(t, "reason"), At: anyMoment(t)}
	}
	return f
}

func anyInstance(t *rapid.T) instanceFacts {
	f := instanceFacts{nodeFacts: anyNodes(t), id: anyText.Draw(t, "id"), found: true}
	r := &f.row
	r.Binding, r.Status, r.CurrentStep, r.Backend = anyText.Draw(t, "binding"), rapid.SampledFrom(append(Statuses(), "", "odd\n")).Draw(t, "state"), anyText.Draw(t, "step"), anyText.Draw(t, "of")
	r.WakeAt, r.FinishedAt, r.PausedAt, r.PauseRequested, r.StalledAt, r.LeaseUntil = anyMoment(t), anyMoment(t), anyMoment(t), anyMoment(t), anyMoment(t), anyMoment(t)
	r.LeaseToken = rapid.SampledFrom([]string{"", "x"}).Draw(t, "lease")
	if rapid.Bool().Draw(t, "waits") {
		r.WaitingFor = &Wait{Kind: rapid.SampledFrom([]string{"sleep", "event", "retry", "pause", "x\n"}).Draw(t, "kind"), Name: anyText.Draw(t, "name"), Types: rapid.SliceOfN(anyText, 0, 3).Draw(t, "types")}
	}
	if rapid.Bool().Draw(t, "error") {
		r.Error = &Error{Name: anyText.Draw(t, "error name"), Message: anyText.Draw(t, "message")}
	}
	if rapid.Bool().Draw(t, "warning") {
		r.Warning = &Warning{Code: anyText.Draw(t, "warning code"), Message: anyText.Draw(t, "warns"), Unreached: rapid.SliceOfN(anyText, 0, 12).Draw(t, "unreached")}
	}
	for range rapid.IntRange(0, 2).Draw(t, "steps") {
		f.steps = append(f.steps, anyStep(t))
	}
	for range rapid.IntRange(0, 2).Draw(t, "events") {
		f.events = append(f.events, explainedEvents{Type: anyText.Draw(t, "type"), Events: 2, Last: noon})
	}
	if rapid.Bool().Draw(t, "job") {
		job := anyJob(t, f.nodeFacts)
		f.job, r.Job = &job, &job.id
	}
	return f
}

func anyStep(t *rapid.T) Step {
	s := Step{Kind: rapid.SampledFrom([]string{"do", "sleep", "waitForEvent"}).Draw(t, "step kind"), Name: anyText.Draw(t, "step name"), Status: rapid.SampledFrom([]string{"running", "retrying", "waiting", "errored"}).Draw(t, "step status"), StartedAt: noon}
	for range rapid.IntRange(0, 2).Draw(t, "attempts") {
		s.Attempts = append(s.Attempts, Attempt{StartedAt: noon, EndedAt: anyMoment(t), Error: rapid.SampledFrom([]*Error{nil, {Message: "x\ny"}}).Draw(t, "attempt error")})
	}
	s.Error = rapid.SampledFrom([]*Error{nil, {Message: ""}, {Message: "z\x1b"}}).Draw(t, "step error")
	s.Config = rapid.SampledFrom([]*StepConfig{nil, {Retries: Retries{Limit: 5}}}).Draw(t, "config")
	return s
}
