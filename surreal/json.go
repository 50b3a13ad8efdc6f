package surreal

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// number reads a JSON number into the type that keeps it exactly: an int64, else a decimal for integers of at most 28
// digits, else a float64.
func number(n json.Number) (any, error) {
	text := string(n)
	if !strings.ContainsAny(text, ".eE") {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return i, nil
		}
		if len(strings.TrimPrefix(text, "-")) <= 28 {
			return models.DecimalString(text), nil
		}
		return nil, fmt.Errorf("the integer %.40s… has more than 28 digits", text)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) || math.IsNaN(f) {
		return nil, fmt.Errorf("%.40q is not a number a float can hold", text)
	}
	return f, nil
}
