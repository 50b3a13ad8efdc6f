package dashboard

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// unending runs a step that does not end, one that is tried again in an hour, and a sleep, beside one another.
func unending(ctx context.Context, _ wf.Event[any], step *wf.Step) (int, error) {
	wf.Go(ctx, step, "retried", func(context.Context) (int, error) { return 0, errors.New("busy") }, wf.Retry(3, time.Hour, wf.Constant))
	hangs := wf.Go(ctx, step, "hangs", func(ctx context.Context) (int, error) {
		<-ctx.Done()
		return 0, ctx.Err()
	})
	return hangs.Wait()
}

// TestNothingRunsOfWhatWasTerminated watches steps by the page of their instance, where one is opened, and by their own
// pages: when the instance is terminated they run no more, and are not tried again.
func TestNothingRunsOfWhatWasTerminated(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(func(e *wf.Engine) { wf.Register(e, "INGEST", unending) }, answers)
	r.create("INGEST", "one", `{}`)
	instance := r.browse()
	instance.signIn(fullSecret)
	instance.open("/admin/instances/one")
	instance.await(`document.querySelectorAll("rect.busy").length >= 1 && document.querySelector(".step .note")?.innerText.startsWith("tries again")`)
	instance.openStep("hangs")
	instance.await(`document.querySelector(".detail.loaded").innerText.includes("running")`)
	steps := map[string]*browser{"hangs": r.browse(), "retried": r.browse()}
	for name, page := range steps {
		page.signIn(readSecret)
		page.open("/admin/instances/one/step?kind=do&name=" + name)
		page.await(`document.querySelector("#pulse").dataset.state === "live" && document.querySelector("#live").innerText.match(/running|retrying/)`)
		page.markPage()
	}
	instance.markPage()
	_, err := r.durable.Terminate(r.ctx, "one")
	r.check(err)
	instance.state("terminated")
	instance.await(`document.querySelectorAll(".step").length === 2 && [...document.querySelectorAll(".step .took")].every((e) => e.innerText.trim() === "cut off")`)
	instance.await(`document.querySelector(".detail.loaded").innerText.includes("it was running when the instance was terminated")`)
	if eval[bool](instance, `document.querySelectorAll(".steps rect.busy, .steps .note").length > 0 || /runs|pauses|running|waiting/.test([...document.querySelectorAll(".steps rect title, .steps svg, .steps td")].map((e) => e.textContent + (e.ariaLabel ?? "")).join())`) {
		t.Errorf("something runs, or is going to: %s", instance.text(".steps"))
	}
	for name, was := range map[string]string{"hangs": "running", "retried": "retrying"} {
		steps[name].await(`document.querySelector("#live").innerText.includes(` + quoted("cut off it was "+was+" when the instance was terminated") + `)`)
		if text := steps[name].text("#live"); strings.Contains(text, "Tries again") {
			t.Errorf("%s is tried again: %s", name, text)
		}
	}
	for _, page := range []*browser{instance, steps["hangs"], steps["retried"]} {
		if !eval[bool](page, same) {
			t.Error("a page was loaded anew")
		}
	}
}

// TestNothingRunsOfWhatHasEnded draws steps that were under way when their instance ended, however it did.
func TestNothingRunsOfWhatHasEnded(t *testing.T) {
	t.Parallel()
	steps := []admin.Step{
		{Kind: "do", Name: "runs", Status: "running", StartedAt: at(0), Attempts: []admin.Attempt{{StartedAt: at(0)}}},
		{Kind: "do", Name: "begins", Status: "running", StartedAt: at(0)},
		{Kind: "do", Name: "retried", Status: "retrying", StartedAt: at(0), RetryAt: ptr(at(9_000_000)), Attempts: []admin.Attempt{
			{StartedAt: at(0), EndedAt: ptr(at(100)), Error: &admin.Error{Name: "Error", Message: "busy"}},
		}},
		{Kind: "sleep", Name: "nap", Status: "waiting", StartedAt: at(0), WakeAt: ptr(at(9_000_000))},
		{Kind: "waitForEvent", Name: "review", Status: "waiting", StartedAt: at(0), WakeAt: ptr(at(9_000_000))},
	}
	for status, ending := range map[wf.Status]string{wf.Terminated: "was terminated", wf.Errored: "errored", wf.Complete: "completed"} {
		of := admin.Summary{Status: status, FinishedAt: ptr(at(60_000))}
		for _, row := range newWaterfall(of, steps, at(9_000_000)).Rows {
			if row.Now != admin.CutOff || row.Note != "" || row.Due != nil || !strings.HasSuffix(row.Says, "cut off when the instance "+ending) {
				t.Errorf("%s of one that %s is %q, %q, and %q until %v", row.Name, ending, row.Now, row.Says, row.Note, row.Due)
			}
			if last := row.Bars[len(row.Bars)-1]; last.Class == "busy" || row.Took != "1 min 00 s" {
				t.Errorf("%s goes on: %+v for %s", row.Name, last, row.Took)
			}
		}
		view := newStepView(admin.Instance{Summary: of}, steps[0])
		if view.Attempts[0].Now != admin.CutOff || view.Attempts[0].Ended == nil || view.CutOff != "it was running when the instance "+ending {
			t.Errorf("the step's page says %+v", view)
		}
	}
}
