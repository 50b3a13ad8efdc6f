package main

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
)

// fromCheckout reports whether the program was built from a checkout: what a module proxy gave has a sum.
func fromCheckout() bool {
	info, ok := debug.ReadBuildInfo()
	return !ok || info.Main.Path == modulePath && info.Main.Sum == ""
}

// checkout is the directory of the checkout that the program was built from; "" where it was not, and where that is
// not there any more, or not known: of a build with -trimpath.
func checkout() string {
	_, file, _, ok := runtime.Caller(0)
	if !ok || !fromCheckout() || !filepath.IsAbs(file) {
		return ""
	}
	dir := filepath.Dir(filepath.Dir(filepath.Dir(file))) // of cmd/spky/checkout.go
	text, err := os.ReadFile(filepath.Join(dir, "go.mod"))
	if err != nil || !bytes.HasPrefix(text, []byte("module "+modulePath+"\n")) {
		return ""
	}
	return dir
}
