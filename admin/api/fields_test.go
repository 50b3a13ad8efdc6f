package api

import (
	"bytes"
	"encoding/json"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write fields.json anew")

// TestFieldsAreDescribed holds fields.json against the fields in the code, and looks for it in the document.
func TestFieldsAreDescribed(t *testing.T) {
	t.Parallel()
	want := fieldText{}
	for _, dir := range []string{"..", "../logs"} {
		files, err := filepath.Glob(dir + "/*.go")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if !strings.HasSuffix(file, "_test.go") {
				commented(t, want, map[string]string{"..": "admin", "../logs": "logs"}[dir], file)
			}
		}
	}
	text, err := json.MarshalIndent(want, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	text = append(bytes.ReplaceAll(text, []byte(`\u003c`), []byte("<")), '\n')
	if *update {
		if err := os.WriteFile("fields.json", text, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	have, err := readFields()
	if err != nil {
		t.Fatal(err)
	}
	// Wording may lag behind the comments; what is described must be there.
	for of, fields := range have {
		for name := range fields {
			if want[of][name] == "" {
				t.Errorf("fields.json describes %s of %s, which there is not; go test ./admin/api -run Fields -update writes it anew", name, of)
			}
		}
	}
	schema := newRig(t).document().Parts.Schemas["JobPage"]
	if got := schema.Properties["jobs"].Items.Properties["retries"].Description; !strings.Contains(got, "failed attempts") || strings.Contains(got, "MaxRetries") {
		t.Errorf("of a job's retries the document says %q", got)
	}
}

// commented notes what the comments in a file say of the fields of its structs. A comment counts for the
// fields below it, too, that it names.
func commented(t *testing.T, into fieldText, pkg, file string) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok || !spec.Name.IsExported() {
			return true
		}
		s, ok := spec.Type.(*ast.StructType)
		if !ok {
			return true
		}
		names := jsonNames(s)
		doc := ""
		for _, field := range s.Fields.List {
			if field.Doc != nil {
				doc = strings.Join(strings.Fields(field.Doc.Text()), " ")
			}
			for _, name := range field.Names {
				if tag := names[name.Name]; tag != "" && doc != "" && (field.Doc != nil || mentions(doc, name.Name)) {
					key := path.Join(pkg) + "." + spec.Name.Name
					if into[key] == nil {
						into[key] = map[string]string{}
					}
					into[key][tag] = inJSON(doc, names)
				}
			}
		}
		return true
	})
}

// jsonNames are the fields of a struct by their names in Go.
func jsonNames(s *ast.StructType) map[string]string {
	names := map[string]string{}
	for _, field := range s.Fields.List {
		if field.Tag == nil {
			continue
		}
		tag, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ",")
		for _, ident := range field.Names {
			if name != "-" {
				names[ident.Name] = name
			}
		}
	}
	return names
}

func mentions(doc, name string) bool {
	return regexp.MustCompile(`\b` + name + `\b`).MatchString(doc)
}

// inJSON is a comment with fields named as JSON does.
func inJSON(doc string, names map[string]string) string {
	for name, tag := range names {
		doc = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllString(doc, tag)
	}
	return doc
}
