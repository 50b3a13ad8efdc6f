package typescript_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestSDK runs the SDK's own tests, which need no database, and compiles those of its types.
func TestSDK(t *testing.T) {
	t.Parallel()
	build(t)
	check(t, npm(sdkDir, "test"))
}

// TestDistIsCurrent: what `spky init` puts into projects is what the sources of the SDK give.
func TestDistIsCurrent(t *testing.T) {
	t.Parallel()
	build(t)
	fresh := t.TempDir()
	cmd := exec.Command("npx", "--no-install", "tsc", "-p", "tsconfig.json", "--outDir", fresh)
	cmd.Dir = sdkDir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	want, have := contents(t, fresh), contents(t, filepath.Join(sdkDir, "dist"))
	for name := range want {
		if !bytes.Equal(want[name], have[name]) {
			t.Errorf("dist/%s is not what src gives; run `npm run build` in sdk/typescript", name)
		}
	}
	for name := range have {
		if _, ok := want[name]; !ok {
			t.Errorf("dist/%s has no source; run `npm run build` in sdk/typescript", name)
		}
	}
}

func contents(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	check(t, fs.WalkDir(os.DirFS(dir), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(dir, name))
		all[name] = data
		return err
	}))
	return all
}
