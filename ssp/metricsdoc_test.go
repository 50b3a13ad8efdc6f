package ssp

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"sp00ky.cloud/spky/surreal"
)

// TestTheDocsListEveryMetric holds docs/observability.md against the registry, both ways: names, labels,
// and no other.
func TestTheDocsListEveryMetric(t *testing.T) {
	t.Parallel()
	n, err := New(Config{DB: surreal.Config{Endpoint: "ws://127.0.0.1:1/rpc", Namespace: "n", Database: "d", Username: "u", Password: "p"}, Backends: serve(t, nil).backends()})
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for _, m := range regexp.MustCompile("(?m)^\\| `(spky_[a-z_]+)` \\| (?:counter|gauge|histogram) \\| ([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
		told = append(told, m[1]+" "+strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(m[2]), "`", ""), ", ", ","))
	}
	var have []string
	descs := make(chan *prometheus.Desc)
	go func() { defer close(descs); n.registry.Describe(descs) }()
	form := regexp.MustCompile(`fqName: "(spky_[a-z_]+)".*variableLabels: \{([^}]*)\}`)
	for d := range descs {
		if m := form.FindStringSubmatch(d.String()); m != nil {
			have = append(have, m[1]+" "+m[2])
		}
	}
	slices.Sort(told)
	slices.Sort(have)
	if len(have) < 20 || !slices.Equal(told, have) {
		t.Errorf("the docs list\n%s\nand there are\n%s", strings.Join(told, "\n"), strings.Join(have, "\n"))
	}
}
