package typescript_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// snippet is a block of TypeScript in a document; its second word names another platform's.
var snippet = regexp.MustCompile("(?s)\n```ts( cloudflare)?\n(.*?\n)```")

// TestSnippets compiles every snippet of the documents about TypeScript.
func TestSnippets(t *testing.T) {
	t.Parallel()
	build(t)
	found := map[string]int{}
	for _, platform := range []string{"spooky", "cloudflare"} {
		check(t, os.RemoveAll(filepath.Join("build", "snippets", platform)))
		check(t, os.MkdirAll(filepath.Join("build", "snippets", platform), 0o750))
	}
	for _, document := range []string{"README.md", "docs/workflows-typescript.md", "docs/porting.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", document))
		check(t, err)
		for n, block := range snippet.FindAllStringSubmatch(string(text), -1) {
			platform := "spooky"
			if block[1] != "" {
				platform = "cloudflare"
			}
			found[platform]++
			name := fmt.Sprintf("%s-%d.ts", strings.TrimSuffix(filepath.Base(document), ".md"), n+1)
			check(t, os.WriteFile(filepath.Join("build", "snippets", platform, name), []byte(module(block[2])), 0o600))
		}
	}
	if found["spooky"] < 10 || found["cloudflare"] == 0 {
		t.Errorf("the documents have only %v snippets", found)
	}
	for _, project := range []string{"snippets/tsconfig.json", "snippets/tsconfig.cloudflare.json"} {
		if out, err := exec.Command("npx", "--no-install", "tsc", "-p", project).CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
	}
}

// module makes a snippet a module: one without imports stands in a function.
func module(code string) string {
	if strings.Contains(code, "import ") {
		return code
	}
	return "export async function snippet() {\n" + code + "}\n"
}
