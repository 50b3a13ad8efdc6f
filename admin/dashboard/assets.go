package dashboard

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
)

//go:embed assets
var assetFiles embed.FS

// assets are the files that pages name, by their name with a hash of their content in it: what a browser has
// of one version is never taken for another's.
type assets struct {
	files map[string][]byte // by name with hash
	names map[string]string // with hash, by name
}

func readAssets() (assets, error) {
	a := assets{files: map[string][]byte{}, names: map[string]string{}}
	err := fs.WalkDir(assetFiles, "assets", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := assetFiles.ReadFile(file)
		if err != nil {
			return err
		}
		name, sum := strings.TrimPrefix(file, "assets/"), sha256.Sum256(text)
		hashed := hex.EncodeToString(sum[:6]) + "/" + name
		a.files[hashed], a.names[name] = text, hashed
		return nil
	})
	if err != nil {
		return a, fmt.Errorf("read the dashboard's assets: %w", err)
	}
	return a, nil
}

// address is where an asset is.
func (a assets) address(name string) (string, error) {
	hashed, ok := a.names[name]
	if !ok {
		return "", fmt.Errorf("there is no asset %s", name)
	}
	return prefix + "/assets/" + hashed, nil
}

// ServeHTTP serves one for as long as anybody wants to keep it.
func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, ok := a.files[r.PathValue("name")]
	if !ok {
		http.Error(w, "there is no such file", http.StatusNotFound)
		return
	}
	kind := mime.TypeByExtension(path.Ext(r.PathValue("name")))
	if kind == "" {
		kind = "text/plain; charset=utf-8"
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	_, _ = w.Write(text) // the client may have gone
}
