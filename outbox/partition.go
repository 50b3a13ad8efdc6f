package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/surreal"
)

// The jobs of a table can be parted by the values of a column. Of one partition, only so many run at
// once, on all nodes together: a running job holds one of its partition's slots, and a unique index lets
// no two jobs hold the same. No row counts anything, and nothing has to be given back: a slot is free as
// soon as its job is not in processing any more.
//
// A job that is due while its partition has no slot free is put into the partition's queue, once. What is
// due is then found without reading past it, and it is found by its partition when a slot is free.

// partitionTexts are the statements of a table whose jobs are parted.
type partitionTexts struct {
	plan, claim, queue, due, waiting, mend string
}

// slotMark stands in the claim's statement where the slot is set.
const slotMark = "{{slot}}"

const setSlot = "\n\tpartition_slot = $slots[array::find_index($ids, id)],"

func newPartitionTexts(cfg Config) partitionTexts {
	if cfg.PartitionBy == "" {
		return partitionTexts{}
	}
	text := func(name string) string { return statement(name, cfg.Name) }
	return partitionTexts{
		plan:  strings.ReplaceAll(text("partition_plan"), "{{key}}", partitionKey(cfg.PartitionBy)),
		claim: strings.ReplaceAll(text("claim"), slotMark, setSlot),
		queue: text("partition_queue"), due: text("partition_due"), waiting: text("partition_waiting"), mend: text("partition_mend"),
	}
}

// keyDepth is how deep lists, objects and records may lie in one another in a value that counts as a whole.
const keyDepth = 2

// partitionKey is the expression for the partition of a row: a text of always the same length, whatever
// a creator has written. Values of different types are different, 1 and '1' for instance. Large values may
// share one: whatever the value, no more of it than is small is made into a text.
func partitionKey(column string) string {
	quoted := "`" + strings.Join(strings.Split(column, "."), "`.`") + "`"
	return strings.NewReplacer("{{value}}", quoted, "{{fits}}", fits(quoted, keyDepth)).Replace(statement("partition_key", ""))
}

// fits is the condition for a value that counts as a whole.
func fits(value string, depth int) string {
	if depth < 0 {
		return "false"
	}
	part := fmt.Sprintf("$part%d", depth)
	return strings.NewReplacer("{{value}}", value, "{{part}}", part, "{{fits}}", fits(part, depth-1)).Replace(statement("partition_fits", ""))
}

// Partitioned says whether the table's jobs are parted: whether they have to be claimed by
// [Table.ClaimPartitioned].
func (t *Table) Partitioned() bool { return t.cfg.PartitionBy != "" }

// dueFirst is how many rows a look for due rows begins with.
const dueFirst = 64

// dueInNoQueue is Due for a table whose jobs are parted. Rows that are due later may be read, and many
// may: so it begins with a few.
func (t *Table) dueInNoQueue(ctx context.Context, after, until time.Time, limit int) ([]Due, error) {
	for _, n := range []int{min(dueFirst, limit), limit} {
		rows, err := surreal.First[[]Due](ctx, t.cfg.DB, t.partition.due, map[string]any{"from": after.Add(1), "limit": n})
		if err != nil {
			return nil, fmt.Errorf("list due jobs of %s: %w", t.cfg.Name, err)
		}
		due := 0
		for due < len(rows) && !rows[due].RunAt.After(until) {
			due++
		}
		if due < n || n == limit {
			return rows[:due], nil
		}
	}
	return nil, nil
}

// Waiting lists up to limit partitions, in the order of their keys and behind one of them ("" for the
// first), in whose queues jobs wait.
func (t *Table) Waiting(ctx context.Context, after string, limit int) ([]string, error) {
	if after != "" {
		after += "!" // keys are hexadecimal: nothing lies between
	}
	keys, err := surreal.First[[]string](ctx, t.cfg.DB, t.partition.waiting, map[string]any{"after": after, "limit": limit})
	return keys, wrap(err, "list waiting partitions of", t.cfg.Name)
}
