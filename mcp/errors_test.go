package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"sp00ky.cloud/spky/admin"
	api "sp00ky.cloud/spky/admin/client"
	"sp00ky.cloud/spky/surreal"
)

// TestATokenThatIsNotValid is told as such, with where to put one that is.
func TestATokenThatIsNotValid(t *testing.T) {
	t.Parallel()
	f := explainError(fmt.Errorf("list jobs: %w", &api.Error{Status: http.StatusUnauthorized, Code: "unauthorized", Message: "there is no token", Hint: "send Authorization"}))
	if f.Code != "unauthorized" || !strings.Contains(f.Hint, "SPKY_ADMIN_TOKEN") || !strings.Contains(f.Message, "there is no token") {
		t.Errorf("told %+v", f)
	}
}

// TestAnAnswerThatIsTooLarge is told as such, of a database at hand and of one behind an admin API: trying again is of no use.
func TestAnAnswerThatIsTooLarge(t *testing.T) {
	t.Parallel()
	for _, err := range []error{
		fmt.Errorf("get instance x: %w: 200000000 bytes", surreal.ErrAnswerTooLarge),
		&api.Error{Status: http.StatusUnprocessableEntity, Code: "answer_too_large", Message: "what was asked for is too large", Hint: admin.HintTooLarge},
	} {
		if f := explainError(err); f.Code != "answer_too_large" || f.Hint != admin.HintTooLarge || !strings.Contains(f.Message, "too large") {
			t.Errorf("told %+v", f)
		}
	}
}
