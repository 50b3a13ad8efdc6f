package api

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func docsPage(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestThePageListsEveryRoute holds docs/admin-api.md against the table of routes, both ways, and its list of
// codes against those that answers are made with.
func TestThePageListsEveryRoute(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(c *Config) { c.MCP = http404{} })
	text := docsPage(t, "admin-api.md")
	listed := map[string]bool{}
	for _, line := range regexp.MustCompile("(?m)^\\| `([A-Z]+) (/\\S+)` \\| (open|read|full) \\|").FindAllStringSubmatch(text, -1) {
		listed[line[1]+" "+line[2]+" "+line[3]] = true
	}
	for _, route := range r.api.routes {
		scope := route.scope
		if scope == scopeOpen {
			scope = "open"
		}
		line := fmt.Sprintf("%s %s %s", route.method, route.path, scope)
		if !listed[line] {
			t.Errorf("the page does not list %s", line)
		}
		delete(listed, line)
	}
	for line := range listed {
		t.Errorf("the page lists %s, which there is not", line)
	}
	var codes []string
	for _, file := range []string{"fault.go", "auth.go", "call.go", "handler.go", "param.go"} {
		source, err := os.ReadFile(file)
		r.check(err)
		for _, found := range regexp.MustCompile(`(?s)refuse\(http\.Status\w+,\s*"(\w+)"`).FindAllStringSubmatch(string(source), -1) {
			codes = append(codes, found[1])
		}
	}
	slices.Sort(codes)
	for _, code := range slices.Compact(codes) {
		if !strings.Contains(text, "| `"+code+"` |") {
			t.Errorf("the page does not list the code %s", code)
		}
	}
}

// TestTheThreatsNameTestsThatExist looks for every test that docs/security.md names.
func TestTheThreatsNameTestsThatExist(t *testing.T) {
	t.Parallel()
	exist := map[string]bool{}
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == ".git"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		source, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(source), -1) {
			exist[filepath.Base(filepath.Dir(path))+"."+found[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(\\w+\\.Test\\w+)`").FindAllStringSubmatch(docsPage(t, "security.md"), -1)
	if len(named) < 30 {
		t.Errorf("the page names %d tests only", len(named))
	}
	for _, name := range named {
		if !exist[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
}
