package retention

import (
	"strings"
	"testing"
)

func TestRoutes(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{
		"/mail/send":                              "/mail/send",
		"/users/17/mail?a=1#x":                    "/users/:id/mail",
		"/v2/files/01J9ZQ5W7V8KX3":                "/v2/files/01J9ZQ5W7V8KX3", // fourteen characters: a name
		"/f/01J9ZQ5W7V8KX3ABCD/end":               "/f/:id/end",
		"/f/6f1c2a1e-0b5d-4c6e-9d55-8a6a2f0c9b11": "/f/:id",
		"/a-very-long-name-without-digits":        "/a-very-long-name-without-digits",
		"":                                        "",
		"/" + strings.Repeat("ä", 300):            "/" + strings.Repeat("ä", 199),
	} {
		if got := Route(path); got != want {
			t.Errorf("%q is counted under %q, want %q", path, got, want)
		}
	}
}
