package surreal

import (
	"time"

	"github.com/surrealdb/surrealdb.go/pkg/models"
)

// RecordID is a table and a key. The key is a string, an integer, a [UUID], a []any or a map[string]any.
// What a key of one of the last two has in it may be a [cbor.Tag], which stands for a range or a set.
type RecordID = models.RecordID

// NewRecordID is the record of a table with a key.
func NewRecordID(table string, key any) RecordID { return RecordID{Table: table, ID: key} }

// UUID is SurrealDB's uuid.
type UUID = models.UUID

// None is SurrealDB's NONE, the absent value. A Go nil becomes NULL, which an option<T> field rejects.
var None = models.None

// Duration is d as SurrealDB's duration. A bare time.Duration is sent as one too; this is for values that are kept
// next to decoded ones, which have this type.
func Duration(d time.Duration) models.CustomDuration { return models.CustomDuration{Duration: d} }

// Datetime is t as SurrealDB's datetime. A bare time.Time is sent as one too, with all its nanoseconds.
func Datetime(t time.Time) models.CustomDateTime { return models.CustomDateTime{Time: t} }
