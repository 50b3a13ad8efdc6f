package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	api "sp00ky.cloud/spky/admin/client"
)

// TestATokenThatIsNotValid is told as such, with where to put one that is.
func TestATokenThatIsNotValid(t *testing.T) {
	t.Parallel()
	f := explainError(fmt.Errorf("list jobs: %w", &api.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "there is no token", Hint: "send Authorization"}))
	if f.Code != "unauthorized" || !strings.Contains(f.Hint, "SPKY_ADMIN_TOKEN") || !strings.Contains(f.Message, "there is no token") {
		t.Errorf("told %+v", f)
	}
}
