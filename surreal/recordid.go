package surreal

import (
	"errors"
	"fmt"
	"math"
	"strings"
)

// checkID refuses record ids the server would not understand, or would quietly understand otherwise: a key of 1.5
// would become 1, one of NONE a random one.
func checkID(id RecordID) error {
	if id.Table == "" {
		return errors.New("a record id needs a table")
	}
	switch key := id.ID.(type) {
	case nil:
		return fmt.Errorf("the id of a record in %q is nil", id.Table)
	case string:
		if key == "" {
			return fmt.Errorf("the id of a record in %q is empty", id.Table)
		}
	case uint64:
		if key > math.MaxInt64 {
			return fmt.Errorf("the id of a record in %q is beyond the integers: %d", id.Table, key)
		}
	case int, int8, int16, int32, int64, uint, uint8, uint16, uint32, UUID, []any, map[string]any:
	default:
		return fmt.Errorf("the id of a record in %q is a %T; want a string, an integer, a uuid, an array or an object", id.Table, key)
	}
	return nil
}

// quoteName is a name as SurrealQL takes it whatever it holds.
func quoteName(name string) string {
	return "`" + strings.NewReplacer("\\", "\\\\", "`", "\\`").Replace(name) + "`"
}
