package schema

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
)

// ErrPartition is a column that jobs can't be parted by.
var ErrPartition = errors.New("write a column's name, or names joined by dots, of letters, digits and _, at most 128 characters")

var partitionColumn = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)

// CheckPartition refuses what is not a column's name or a path below one.
func CheckPartition(column string) error {
	if len(column) > 128 || !partitionColumn.MatchString(column) {
		return fmt.Errorf("partition jobs by %q: %w", column, ErrPartition)
	}
	return nil
}

// MissingPartitions are the statements that an outbox table, as it was found, lacks to have its jobs
// parted by a column. An error says why they can't be: the table has no such column.
func (box Outbox) MissingPartitions(column string) ([]string, error) {
	if err := CheckPartition(column); err != nil {
		return nil, err
	}
	name, _, _ := strings.Cut(column, ".")
	if _, ok := box.Fields[name]; !ok && box.Schemafull {
		return nil, fmt.Errorf("table %s has no column %s, so that no job would have a partition: define it, or correct method.partitionBy", box.Table, name)
	}
	return box.lacks(read("surql/partition.surql")), nil
}

// PreparePartitions adds to a prepared outbox table what it needs to have its jobs parted by a column.
// A *RefusedError carries the statements to run by hand.
func PreparePartitions(ctx context.Context, db DB, table, column string) error {
	box, err := InspectOutbox(ctx, db, table)
	if err != nil {
		return err
	}
	missing, err := box.MissingPartitions(column)
	if err != nil || len(missing) == 0 {
		return err
	}
	ddl := strings.Join(missing, "\n")
	if err := define(ctx, db, ddl); err != nil {
		return &RefusedError{Table: table, DDL: ddl, Err: err}
	}
	return nil
}
