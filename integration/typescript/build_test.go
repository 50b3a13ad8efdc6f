package typescript_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

const sdkDir = "../../sdk/typescript"

// built installs what the tests need and builds the programs of this directory, once. The SDK is taken as it is in
// dist; TestDistIsCurrent says when that is old.
var built = sync.OnceValue(func() error {
	for _, dir := range []string{sdkDir, "."} {
		if err := install(dir); err != nil {
			return err
		}
	}
	return npm(".", "run", "--silent", "build")
})

func build(t *testing.T) {
	t.Helper()
	check(t, built())
}

// install installs the packages of the lock file, unless they are there.
func install(dir string) error {
	lock, err := os.Stat(filepath.Join(dir, "package-lock.json"))
	if err != nil {
		return fmt.Errorf("install packages: %w", err)
	}
	present, err := os.Stat(filepath.Join(dir, "node_modules", ".package-lock.json"))
	if err == nil && !present.ModTime().Before(lock.ModTime()) {
		return nil
	}
	return npm(dir, "ci", "--no-audit", "--no-fund")
}

func npm(dir string, args ...string) error {
	cmd := exec.Command("npm", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm %v in %s: %w\n%s", args, dir, err, out)
	}
	return nil
}
