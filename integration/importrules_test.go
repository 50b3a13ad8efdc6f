package integration_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// module is this module's path.
const module = "sp00ky.cloud/spky"

// allowed says which packages of this module each top-level directory may import, beside those below
// itself. A directory that is not here must hold no Go code.
func allowed() map[string][]string {
	return map[string][]string{
		"config":      {},
		"schema":      {},
		"surreal":     {},
		"devdb":       {},
		"outbox":      {"surreal"},
		"ssp":         {"config", "outbox", "surreal", "schema"},
		"wf":          {"surreal"}, // for its types: the database itself is an interface of its own
		"admin":       {"outbox", "surreal", "config", "ssp", "wf"},
		"mcp":         {"admin"},
		"examples":    {"surreal", "wf"}, // what users may import too
		"sdk":         {},                // the built TypeScript SDK, to be embedded
		"bench":       {"*"},
		"cmd":         {"*"},
		"integration": {"*"},
	}
}

// setUp are what tests anywhere may import beside: a real database, the only client for it, and what
// brings a table or a schedule about.
func setUp() []string {
	return []string{"devdb", "surreal", "config", "schema", "outbox", "ssp/schedule"}
}

// ends are directories that nobody imports; only the command is made of bench too.
func ends() []string { return []string{"integration", "cmd", "examples", "bench"} }

// testOnly are packages that only tests import; the chaos driver is one that has a command line.
func testOnly() []string { return []string{"devdb/devdbtest", "surreal/faultproxy", "admin/admintest"} }

// homeless are names of packages that hold what has no home.
func homeless() []string { return []string{"util", "utils", "common", "helpers", "types", "models"} }

// An importing is one import in one file.
type importing struct {
	file, top string // relative to the module's root; its first directory
	path      string
	test      bool
}

func TestImports(t *testing.T) {
	t.Parallel()
	found := imports(t, "..")
	if len(found) < 100 {
		t.Fatalf("found only %d imports: this looks at the wrong place", len(found))
	}
	for _, i := range found {
		if fault := judge(i); fault != "" {
			t.Errorf("%s imports %s: %s", i.file, i.path, fault)
		}
	}
}

// TestImportRules shows that the rules refuse what they are for.
func TestImportRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		file, path string
		refused    bool
	}{
		{"schema/apply.go", module + "/surreal", true},
		{"config/load.go", module + "/schema", true},
		{"surreal/client.go", module + "/config", true},
		{"outbox/claim.go", module + "/surreal", false},
		{"outbox/claim.go", module + "/ssp", true},
		{"ssp/node.go", module + "/schema", false},
		{"ssp/node.go", module + "/admin", true},
		{"ssp/node_test.go", module + "/devdb/devdbtest", false},
		{"ssp/node.go", module + "/devdb/devdbtest", true},
		{"ssp/node.go", "github.com/surrealdb/surrealdb.go", true},
		{"integration/chaos/world/links.go", module + "/surreal/faultproxy", false},
		{"surreal/sdk.go", "github.com/surrealdb/surrealdb.go/pkg/connection", false},
		{"wf/run.go", module + "/surreal", false},
		{"wf/run.go", module + "/outbox", true},
		{"mcp/tools.go", module + "/admin", false},
		{"mcp/tools.go", module + "/outbox", true},
		{"mcp/tools_test.go", module + "/ssp/schedule", false},
		{"mcp/tools_test.go", module + "/ssp", true},
		{"mcp/tools.go", module + "/ssp/schedule", true},
		{"cmd/spky/jobs.go", module + "/integration", true},
		{"cmd/spky/bench.go", module + "/bench", false},
		{"ssp/node_test.go", module + "/bench", true},
		{"ssp/node_test.go", module + "/admin", true},
		{"util/text.go", "strings", true},
		{"surreal/util/text.go", "strings", true},
	} {
		i := importing{file: c.file, top: top(c.file), path: c.path, test: strings.HasSuffix(c.file, "_test.go")}
		if fault := judge(i); (fault != "") != c.refused {
			t.Errorf("%s imports %s: %q, want refused: %v", c.file, c.path, fault, c.refused)
		}
	}
}

// judge says what is wrong with an import, "" for nothing.
func judge(i importing) string {
	may, known := allowed()[i.top]
	dir := path.Dir(i.file)
	switch {
	case !known:
		return "the directory " + i.top + " is not in the layout"
	case slices.ContainsFunc(strings.Split(dir, "/"), func(part string) bool { return slices.Contains(homeless(), part) }):
		return "a package of that name holds what has no home"
	case strings.HasPrefix(i.path, "github.com/surrealdb/surrealdb.go"):
		// Tests may be clients of their own, to see what any other client sees.
		if i.top != "surreal" && !i.test {
			return "only surreal imports the SDK"
		}
		return ""
	}
	imported, ours := strings.CutPrefix(i.path, module+"/")
	theirs := top(imported)
	switch {
	case !ours && i.path != module:
		return ""
	case slices.Contains(testOnly(), imported) && !i.test && dir != imported && i.top != "integration":
		return "it is for tests"
	case theirs == i.top:
		return ""
	case slices.Contains(ends(), theirs) && !(i.top == "cmd" && theirs == "bench"):
		return "nobody imports " + theirs
	case slices.Contains(may, "*"), slices.Contains(may, theirs), i.test && (slices.Contains(setUp(), theirs) || slices.Contains(setUp(), imported)):
		return ""
	}
	return "not allowed; allowed: " + strings.Join(may, ", ")
}

func top(file string) string {
	first, _, _ := strings.Cut(file, "/")
	return first
}

// imports lists the imports of all Go files below root.
func imports(t *testing.T, root string) []importing {
	t.Helper()
	var found []importing
	err := fs.WalkDir(os.DirFS(root), ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && file != "." || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case path.Ext(file) != ".go":
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, spec := range parsed.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			found = append(found, importing{file: file, top: top(file), path: imported, test: strings.HasSuffix(file, "_test.go") || slices.Contains(testOnly(), path.Dir(file))})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
