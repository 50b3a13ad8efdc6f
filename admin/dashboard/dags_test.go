package dashboard

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/ssp/schedule"
)

// nightly is a DAG of five steps, of which tell fails.
func nightly() []schedule.Spec {
	step := func(name, route string, after ...string) config.DAGStep {
		return config.DAGStep{Name: name, Backend: "api", Route: route, DependsOn: after, Retry: config.Retry{Max: 1}}
	}
	return schedule.Specs(&config.Config{
		Backends: configured(nil), Retention: config.Retention{RunSuccess: 10, RunFailed: 10},
		Workflows: []config.DAG{{
			Name: "nightly", Trigger: &config.Trigger{Cron: "0 3 * * *", Timezone: "UTC"}, Concurrency: "skip", OnFailure: "continue-independent",
			Steps: []config.DAGStep{step("extract", "/work"), step("clean", "/work", "extract"), step("tell", "/fail", "extract"), step("index", "/work", "clean"), step("done", "/work", "index", "tell")},
		}},
	})
}

// TestDAGsOnPages does everything that the pages of DAGs and runs offer.
func TestDAGsOnPages(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.running(workflows, answers, nightly()...)
	b := r.browse()
	b.signIn(fullSecret)
	b.open("/admin/dags")
	b.click(`#live td a`)
	b.state("active")
	b.act("pause", "No tick starts anything more")
	b.state("paused")
	b.act("resume", "It goes on with its next tick.")
	b.state("active")
	if n := eval[int](b, `document.querySelectorAll(".graph .box").length * 10 + document.querySelectorAll(".graph .edge").length`); n != 55 {
		t.Errorf("of 5 boxes and 5 edges the graph has %d", n)
	}
	b.click(`button[popovertarget="ask-trigger"]`)
	b.click(`#ask-trigger form button:not(.quiet)`)
	b.await(`location.pathname.startsWith("/admin/runs/")`)
	b.told("It was started.")
	b.await(`[...document.querySelectorAll(".graph .box.good p:not(.second)")].map((t) => t.textContent).join() === "extract,clean,index"`)
	b.state("failed")
	b.await(`document.querySelector(".graph .box.bad p").textContent === "tell" && document.querySelectorAll(".steps rect.done").length === 3 && document.querySelectorAll(".steps rect.failed").length === 1`)
	b.open("/admin/dags/nightly")
	b.click(`td[data-label="Run"] a`)
	b.state("failed")
	b.picture("run-light")
	b.act("retry", "It goes on with the steps that did not succeed.")
	b.state("failed")
	b.act("rerun", "It was started again.")
	b.state("failed")
	runs, err := r.dags.Runs(r.ctx, "nightly", "", 0)
	if err != nil || len(runs) != 2 || runs[1].RetryCount != 1 {
		t.Errorf("the runs are %+v, %v", runs, err)
	}
}

func TestGraph(t *testing.T) {
	t.Parallel()
	at := func(g graph) (columns []int) {
		for _, b := range g.Boxes {
			columns = append(columns, b.X/(boxWidth+gapAcross))
		}
		return columns
	}
	for name, c := range map[string]struct {
		nodes []node
		want  []int
		edges int
	}{
		"none":    {nil, nil, 0},
		"diamond": {[]node{{name: "a"}, {name: "b", dependsOn: []string{"a"}}, {name: "c", dependsOn: []string{"a"}}, {name: "d", dependsOn: []string{"b", "c"}}}, []int{0, 1, 1, 2}, 4},
		"upside":  {[]node{{name: "d", dependsOn: []string{"c"}}, {name: "c", dependsOn: []string{"a"}}, {name: "a"}}, []int{2, 1, 0}, 2},
		"nobody":  {[]node{{name: "a", dependsOn: []string{"gone"}}}, []int{0}, 0},
		"itself":  {[]node{{name: "a", dependsOn: []string{"a"}}}, []int{0}, 1},
	} {
		g := newGraph(c.nodes)
		if !slices.Equal(at(g), c.want) || len(g.Edges) != c.edges {
			t.Errorf("%s: columns %v with %d edges, want %v with %d", name, at(g), len(g.Edges), c.want, c.edges)
		}
	}
	// What leads past a column has a lane of its own there.
	long := newGraph([]node{{name: "a"}, {name: "b", dependsOn: []string{"a"}}, {name: "c", dependsOn: []string{"b", "a"}}})
	lane := fmt.Sprintf(" %d %dH%d", boxWidth+gapAcross, boxHeight+gapDown+boxHeight/2, 2*boxWidth+gapAcross)
	if !strings.Contains(long.Edges[2].Path, lane) || long.Height != 2*boxHeight+gapDown {
		t.Errorf("the line from a to c is %s, not by%s; the graph is %d high", long.Edges[2].Path, lane, long.Height)
	}
	circle := newGraph([]node{{name: "a", dependsOn: []string{"b"}}, {name: "b", dependsOn: []string{"a"}}})
	if len(circle.Boxes) != 2 || circle.Width > 10*boxWidth {
		t.Errorf("a circle is drawn as %+v", circle)
	}
}
