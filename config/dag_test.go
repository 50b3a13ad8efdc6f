package config_test

import (
	"fmt"
	"strings"
	"testing"

	"sp00ky.cloud/spky/config"
)

// TestDAGsInFiles reads DAGs from files that name others.
func TestDAGsInFiles(t *testing.T) {
	t.Parallel()
	c, err := config.Load(config.Options{Path: "testdata/good/dag/sp00ky.yml"})
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Workflows) != 2 {
		t.Fatalf("%+v", c.Workflows)
	}
	nightly, hand := c.Workflows[0], c.Workflows[1]
	if nightly.Name != "nightly" || nightly.Trigger == nil || nightly.Trigger.Timezone != "Europe/Berlin" || nightly.OnFailure != "halt" || nightly.Concurrency != "skip" ||
		len(nightly.Steps) != 4 || strings.Join(nightly.Steps[3].DependsOn, " ") != "left right" || nightly.Steps[3].Retry.Max != 0 || nightly.Steps[0].Retry.Max != 3 {
		t.Errorf("%+v", nightly)
	}
	if hand.Name != "by hand" || hand.Trigger != nil || hand.ForEach == nil || hand.ForEach.Key != "id" || hand.OnFailure != "continue-independent" || hand.Concurrency != "replace" {
		t.Errorf("%+v", hand)
	}
}

// TestADAGHasABoundedNumberOfSteps counts them.
func TestADAGHasABoundedNumberOfSteps(t *testing.T) {
	t.Parallel()
	head := "apps:\n  api:\n    type: backend\n    spec: openapi.yml\n    baseUrl: http://127.0.0.1:1\n    method: {type: outbox, schema: job.surql, table: job}\nworkflows:\n  large:\n    steps:\n"
	ddl, err := config.OutboxSchema("job", config.OutboxOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{200, 201} {
		var text strings.Builder
		text.WriteString(head)
		for i := range n {
			fmt.Fprintf(&text, "      s%d: {backend: api, route: /run%s}\n", i, map[bool]string{true: fmt.Sprintf(", dependsOn: [s%d]", i-1)}[i > 0])
		}
		path := write(t, map[string]string{config.DefaultFile: text.String(), "openapi.yml": "openapi: 3.1.0\npaths: {/run: {post: {}}}\n", "job.surql": ddl})
		report := config.Lint(path, config.Options{})
		if (n > 200) == report.OK() || n > 200 && !strings.Contains(report.Errors[0].Message, "201 steps") {
			t.Errorf("%d steps: %v", n, report.Findings())
		}
	}
}
