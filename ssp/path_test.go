package ssp

import (
	"net/url"
	"path"
	"strings"
	"testing"
	"unicode"
)

func TestTargets(t *testing.T) {
	t.Parallel()
	cases := []struct{ base, path, want string }{
		{"http://h", "/x", "http://h/x"},
		{"http://h/", "/x", "http://h/x"},
		{"http://h/api", "/x/y", "http://h/api/x/y"},
		{"http://h/api/", "/x/", "http://h/api/x/"},
		{"https://h:8443/a/b/", "/x?y=1&z=a%20b", "https://h:8443/a/b/x?y=1&z=a%20b"},
		{"http://h/a%2Fb", "/c%2Fd", "http://h/a%2Fb/c%2Fd"},
		{"http://h", "/", "http://h/"},
		{"http://h", "/?x", "http://h/?x"},
		{"http://h", "/a//b", "http://h/a//b"},
		{"http://h", "/ä b", "http://h/%C3%A4%20b"},
		{"http://h", "/x?q=ä b\"<>", "http://h/x?q=%C3%A4%20b%22%3C%3E"},
		{"http://h", "/x?a=/../b&c=http://z", "http://h/x?a=/../b&c=http://z"},
		{"http://h", "/a;v=1/b", "http://h/a;v=1/b"},
		{"http://h", "/user%40host", "http://h/user%40host"},
		{"http://h", "/...", "http://h/..."},
		{"http://h", "/__spkyx/y", "http://h/__spkyx/y"},
		{"http://h", "/x/__spky/y", "http://h/x/__spky/y"},
	}
	for _, c := range cases {
		base, err := url.Parse(c.base)
		if err != nil {
			t.Fatal(err)
		}
		got, err := target(base, c.path)
		if err != nil || got.String() != c.want {
			t.Errorf("%s and %s give %v, %v; want %s", c.base, c.path, got, err, c.want)
		}
	}
	if _, err := target(&url.URL{Scheme: "http", Host: "h"}, "/"+strings.Repeat("ä", maxPath-1)); err != nil {
		t.Errorf("a path of %d characters is refused: %v", maxPath, err)
	}
}

// FuzzTarget looks for a path that leaves the backend's origin or prefix, or that reaches the
// platform's own routes, read as servers read paths: decoded once, with backslashes as slashes, and
// without the parameters behind a semicolon.
func FuzzTarget(f *testing.F) {
	for _, seed := range []string{"/x", "//evil", "/..", "/%2e%2e/x", "/\\..\\x", "/__spky/x", "/%5f_spky/x", "/..;/x", "/x?y#z", "http://evil/x", "/@evil", "/\r\nHost: evil", "/%00", "/\u202e", "/a/%2e./b", "/;/__spky/x", "/%252e%252e/x"} {
		f.Add(seed)
	}
	base := &url.URL{Scheme: "http", Host: "good.example:81", Path: "/pre/fix"}
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := target(base, raw)
		if err != nil {
			return
		}
		if got.Scheme != base.Scheme || got.Host != base.Host || got.User != nil || got.Fragment != "" || got.Opaque != "" {
			t.Fatalf("%q leads to %q", raw, got)
		}
		text := got.String()
		again, err := url.Parse(text)
		if err != nil || again.Host != base.Host || again.Scheme != base.Scheme || again.User != nil {
			t.Fatalf("%q becomes %q, which reads as %v, %v", raw, text, again, err)
		}
		if strings.IndexFunc(text, func(r rune) bool { return unicode.IsControl(r) || r == ' ' || r > unicode.MaxASCII }) >= 0 {
			t.Fatalf("%q becomes %q, which is no request line", raw, text)
		}
		for _, read := range []string{again.Path, parameter.ReplaceAllString(strings.ReplaceAll(again.Path, `\`, "/"), "")} {
			clean := path.Clean(read)
			if !strings.HasPrefix(read, "/pre/fix/") || clean != "/pre/fix" && !strings.HasPrefix(clean, "/pre/fix/") {
				t.Fatalf("%q becomes %q, which leaves the prefix", raw, text)
			}
			if below := strings.ToLower(strings.TrimPrefix(clean, "/pre/fix")); below == reserved || strings.HasPrefix(below, reserved+"/") {
				t.Fatalf("%q becomes %q, a route of the platform", raw, text)
			}
		}
	})
}
