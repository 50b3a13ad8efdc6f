package dashboard

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/chromedp/chromedp"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// axe is the source of axe-core, installed once a run.
var axe = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "spky-axe-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	for _, name := range []string{".npmrc", "package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata", "axe", name))
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, name), text, 0o644)
		}
		if err != nil {
			return "", err
		}
	}
	npm := exec.Command("npm", "ci", "--ignore-scripts", "--no-update-notifier", "--loglevel=error")
	npm.Dir = dir
	if out, err := npm.CombinedOutput(); err != nil {
		return "", fmt.Errorf("install axe-core: %w\n%s", err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "node_modules", "axe-core", "axe.min.js"))
	return string(text), err
})

// nightlyRun is what stands in wholePages for the page of a run.
const nightlyRun = "/admin/runs/nightly"

// wholePages are pages with something on them, of a busy rig.
func (r *rig) wholePages() []string {
	pages := slices.Clone(wholePages)
	pages[slices.Index(pages, nightlyRun)] = runAddress(r.ran)
	return pages
}

var wholePages = []string{
	"/admin/", "/admin/jobs", "/admin/jobs?status=failed", "/admin/jobs/job:doc03", "/admin/jobs/job:tomorrow", "/admin/workflows", "/admin/workflows/INGEST", "/admin/instances",
	"/admin/instances/gettysburg", "/admin/instances/tyger", "/admin/instances/tyger/step?kind=do&name=check+links", "/admin/schedules", "/admin/schedules/nightly", "/admin/dags", "/admin/dags/nightly", nightlyRun, "/admin/nodes", "/admin/audit", "/admin/nowhere",
}

// TestAccessibility has axe-core look at every page, light and dark, with all that opens open.
func TestAccessibility(t *testing.T) {
	t.Parallel()
	r := busyRig(t)
	source, err := axe()
	r.check(err)
	b := r.browse()
	b.expects("status of 404") // the page that there is not
	b.open("/admin/login")
	b.barriers("/admin/login", source)
	b.signIn(fullSecret)
	for _, theme := range []string{"light", "dark"} {
		b.theme(theme)
		for _, path := range r.wholePages() {
			b.open(path)
			b.openAll()
			b.barriers(theme+" "+path, source)
			for n := range eval[int](b, `document.querySelectorAll("main [popover]").length`) {
				eval[bool](b, fmt.Sprintf(`document.querySelectorAll("main [popover]")[%d].showPopover(), true`, n))
				b.barriers(fmt.Sprintf("%s %s, dialog %d", theme, path, n), source)
				eval[bool](b, fmt.Sprintf(`document.querySelectorAll("main [popover]")[%d].hidePopover(), true`, n))
			}
		}
	}
}

// openAll opens the steps of a page, and waits for what each has to show. What is in two of them has two ids.
func (b *browser) openAll() {
	b.t.Helper()
	eval[bool](b, `document.querySelectorAll(".step details").forEach((d) => { d.open = true; }), true`)
	b.await(`[...document.querySelectorAll(".detail")].every((d) => d.querySelector("dl"))`)
	if twice := eval[string](b, `[...document.querySelectorAll("[id]")].map((e) => e.id).filter((id, n, all) => all.indexOf(id) !== n).join()`); twice != "" {
		b.t.Errorf("%s has these ids twice: %s", eval[string](b, `location.pathname`), twice)
	}
}

// barriers fails of every serious fault that axe-core finds.
func (b *browser) barriers(where, source string) {
	b.t.Helper()
	found := eval[string](b, source+`; axe.run(document, { resultTypes: ["violations"] }).then((r) => JSON.stringify(r.violations
		.filter((v) => v.impact === "serious" || v.impact === "critical" || v.impact === "moderate").map((v) => ({ id: v.id, impact: v.impact, nodes: v.nodes.slice(0, 3).map((n) => n.html + " | " + n.failureSummary) }))))`)
	var faults []struct {
		ID, Impact string
		Nodes      []string
	}
	b.check(json.Unmarshal([]byte(found), &faults))
	for _, f := range faults {
		b.t.Errorf("%s: %s (%s): %q", where, f.ID, f.Impact, f.Nodes)
	}
}

// crowded is an instance whose line of time has more waits and replays than there is room to name. Of each seq there are two steps,
// as there are of steps that begin together.
func (r *rig) crowded() string {
	r.t.Helper()
	r.create("INGEST", "crowded", `{}`)
	r.exec(`BEGIN;
		LET $began = time::now() - 1h;
		FOR $n IN 0..12 {
			LET $at = $began + duration::from_secs($n * 30);
			CREATE type::record('_00_wf_step', ['crowded', 0, 'do', 'convert ' + <string>$n, 1]) SET instance = _00_wf_instance:crowded, seq = $n + 1, kind = 'do',
				name = 'convert ' + <string>$n, occurrence = 1, status = 'complete', started_at = $at, finished_at = $at + 17s + 50ms, attempts = [
					{ started_at: $at, ended_at: $at + 10ms, error: { name: 'Error', message: 'busy' } },
					{ started_at: $at + 500ms, ended_at: $at + 510ms, error: { name: 'Error', message: 'busy' } },
					{ started_at: $at + 17s, ended_at: $at + 17s + 50ms }];
			CREATE type::record('_00_wf_step', ['crowded', 0, 'sleep', 'nap ' + <string>$n, 1]) SET instance = _00_wf_instance:crowded, seq = $n + 1, kind = 'sleep',
				name = 'nap ' + <string>$n, occurrence = 1, status = 'complete', attempts = [], started_at = $at + 18s, finished_at = $at + 29s, wake_at = $at + 29s;
		};
		UPDATE _00_wf_instance:crowded SET status = 'complete', started_at = $began, finished_at = $began + 360s, steps_done = 24;
		COMMIT`, nil)
	return "/admin/instances/crowded"
}

// axisFaults is what is wrong with the axis of a line of time: words that lie upon one another, or stick out, an axis that is no
// axis of the bars, and one that says nothing. What does not fit is in a row below that nobody sees.
const axisFaults = `[...document.querySelectorAll(".axis svg")].filter((svg) => svg.checkVisibility()).flatMap((svg) => {
	const line = svg.getBoundingClientRect(), faults = [];
	const bars = document.querySelector(".steps .bars").getBoundingClientRect();
	if (Math.abs(line.left - bars.left) > 1 || Math.abs(line.right - bars.right) > 1) faults.push("the axis is from " + line.left + " to " + line.right + ", the bars from " + bars.left + " to " + bars.right);
	const words = [...svg.querySelectorAll("text, b, i")].map((e) => ({ text: e.textContent, box: e.getBoundingClientRect(), row: (e.closest(".tick") ?? svg).getBoundingClientRect() }))
		.filter((w) => w.box.top < w.row.bottom - 1);
	if (svg.querySelector("i") && !words.some((w) => /\d/.test(w.text))) faults.push("the axis does not say how long a wait was");
	for (const w of words) {
		if (w.box.left < line.left - 1 || w.box.right > line.right + 1) faults.push(w.text + " sticks out");
		for (const o of words) {
			if (o !== w && o.box.left >= w.box.left && o.box.left < w.box.right - 0.5 && o.box.top < w.box.bottom - 2 && w.box.top < o.box.bottom - 2) faults.push(o.text + " lies upon " + w.text);
		}
	}
	return faults;
})`

// TestWidths looks whether a page has to be moved sideways, whether something sticks out of its card, and whether a line of time
// can be read.
func TestWidths(t *testing.T) {
	t.Parallel()
	r := busyRig(t)
	pages := append(r.wholePages(), r.crowded())
	b := r.browse()
	b.expects("status of 404")
	b.signIn(fullSecret)
	for _, width := range []int64{400, 800, 1280, 1360} {
		b.size(width, 800)
		for _, path := range pages {
			b.open(path)
			b.openAll()
			wide := eval[string](b, fmt.Sprintf(`(document.documentElement.scrollWidth <= %d ? [] : [...document.querySelectorAll("main *")].filter((e) => e.getBoundingClientRect().right > %d + 1))
				.concat([...document.querySelectorAll(".card table, .card .steps, .card .value")].filter((e) => e.getBoundingClientRect().right > e.closest(".card").getBoundingClientRect().right))
				.map((e) => e.outerHTML.slice(0, 200)).concat(%s).slice(0, 5).join("\n")`, width, width, axisFaults))
			if wide != "" {
				t.Errorf("%s, %d pixels wide, has something too wide: %s", path, width, wide)
			}
		}
	}
}

// TestKeyboard goes through the pages without a mouse.
func TestKeyboard(t *testing.T) {
	t.Parallel()
	r := busyRig(t)
	b := r.browse()
	b.signIn(fullSecret)
	press := func(keys string) {
		t.Helper()
		b.do("press "+keys, chromedp.KeyEvent(keys))
	}
	press("gi")
	b.await(`location.pathname === "/admin/instances" && document.querySelector("#pulse")?.dataset.state === "live"`)
	press("/")
	b.await(`document.activeElement.name === "q"`)
	eval[bool](b, `document.activeElement.select(), true`) // the driver types the / that a keyboard would not
	press("getty\r")
	b.await(`location.search === "?q=getty" && document.querySelectorAll("tbody tr").length === 1 && document.querySelector("#pulse")?.dataset.state === "live"`)
	press("j")
	b.await(`document.activeElement.textContent === "gettysburg"`)
	press("\r")
	b.await(`location.pathname === "/admin/instances/gettysburg" && document.querySelector("#pulse")?.dataset.state === "live"`)
	press("jjj")
	b.await(`document.activeElement.matches("summary") && document.activeElement.closest(".step").previousElementSibling !== null`)
	press("\r")
	b.await(`document.activeElement.parentElement.open && document.activeElement.parentElement.querySelector(".detail table")`)
	press("?")
	b.await(`document.querySelector("#keys").matches(":popover-open")`)
	press("\x1b")
	b.await(`!document.querySelector("#keys").matches(":popover-open")`)
	press("gx")
	press("gj")
	b.await(`location.pathname === "/admin/jobs" && document.readyState === "complete"`)
	press("\t")
	b.await(`document.activeElement.classList.contains("skip")`)
}

// TestTimes looks whether times are relative, and exact on hover, and go on.
func TestTimes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.job(admin.NewJob{ID: "later", Path: "/work", Delay: 3_600_000})
	b := r.browse()
	b.signIn(fullSecret)
	b.open("/admin/jobs/job:later")
	b.await(`[...document.querySelectorAll("time")].some((t) => t.textContent === "in 59 min" && /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{3} UTC$/.test(t.title))`)
	b.await(`[...document.querySelectorAll("time")].some((t) => /^[2-9] s ago$/.test(t.textContent))`) // by itself: nothing happens to the job
}

// TestTheme chooses one, which stays.
func TestTheme(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	b := r.browse()
	b.theme("light")
	b.signIn(readSecret)
	ground := `getComputedStyle(document.documentElement).backgroundColor`
	light := eval[string](b, ground)
	b.click("#theme")
	b.click("#theme")
	b.await(`document.documentElement.dataset.theme === "dark"`)
	b.open("/admin/jobs")
	if dark := eval[string](b, ground); dark == light {
		t.Errorf("dark is %s, and light as well", dark)
	}
	b.click("#theme")
	b.await(`document.documentElement.dataset.theme === undefined && ` + ground + ` === ` + quoted(light))
}

// TestSchedulesOnPages does everything that a schedule's page offers.
func TestSchedulesOnPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers, schedule.Specs(&config.Config{
		Schedules: []config.Schedule{{Name: "nightly", Cron: "0 3 * * *", Timezone: "UTC", Backend: "api", Workflow: "MAIL", Enabled: true, Concurrency: "skip"}},
		Backends:  configured(nil), Retention: config.Retention{RunSuccess: 10, RunFailed: 10},
	})...)
	b := r.browse()
	b.signIn(fullSecret)
	b.open("/admin/schedules")
	b.await(`document.querySelector("#live").innerText.includes("nightly")`)
	b.open("/admin/schedules/nightly")
	b.state("active")
	const next = `[...document.querySelectorAll("#live dt")].find((e) => e.textContent === "Next").nextElementSibling.textContent`
	b.await(next + ` !== "–"`)
	b.act("pause", "Nothing more starts")
	b.state("paused")
	b.await(next + ` === "–"`) // not the tick that it will not have
	b.act("resume", "It goes on with its next tick.")
	b.state("active")
	b.act("trigger", "1 started.")
	b.await(`document.querySelector("#live").innerText.match(/triggered\s+success/)`)
	b.click(`td[data-label="Run"] a`)
	b.state("complete")
}
