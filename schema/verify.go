package schema

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Difference is one platform object that is not as it was applied.
type Difference struct {
	// Object in words, such as "field heartbeat_at of _00_node".
	Object string `json:"object"`
	// Want is the definition that was applied, empty where the object should not exist.
	Want string `json:"want,omitempty"`
	// Have is the definition found, empty where the object is missing.
	Have string `json:"have,omitempty"`
}

func (d Difference) String() string {
	switch {
	case d.Have == "":
		return d.Object + " is missing"
	case d.Want == "":
		return fmt.Sprintf("%s is not the platform's: %s", d.Object, d.Have)
	}
	return fmt.Sprintf("%s is %q, want %q", d.Object, d.Have, d.Want)
}

// Verify compares the platform's objects in db with what Apply left there, and the applied version
// with this program's. An empty answer means that they agree. `spky migrate apply` mends a missing
// or older schema; a changed object is mended by it after `DELETE _00_schema:platform`.
func Verify(ctx context.Context, db DB) ([]Difference, error) {
	have, err := state(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read schema state: %w", err)
	}
	if have.version == 0 {
		return []Difference{{Object: "platform schema", Want: fmt.Sprintf("version %d", Version)}}, nil
	}
	var found []Difference
	if have.version != Version || have.checksum != Checksum() {
		found = append(found, Difference{
			Object: "platform schema",
			Want:   fmt.Sprintf("version %d, checksum %.12s", Version, Checksum()),
			Have:   fmt.Sprintf("version %d, checksum %.12s", have.version, have.checksum),
		})
	}
	now, err := snapshot(ctx, db)
	if err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	return append(found, compare(have.objects, now)...), nil
}

func compare(want, have map[string]string) []Difference {
	all := maps.Clone(want)
	maps.Copy(all, have)
	var found []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if want[name] != have[name] {
			found = append(found, Difference{Object: name, Want: want[name], Have: have[name]})
		}
	}
	return found
}

// snapshot is every platform object in db, by its name in words.
func snapshot(ctx context.Context, db DB) (map[string]string, error) {
	info, err := object(ctx, db, "INFO FOR DB")
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for name, def := range names(info, "functions") {
		if strings.HasPrefix(name, "spky::") {
			found["function fn::"+name] = def
		}
	}
	tables := names(info, "tables")
	for _, table := range Tables() {
		def, ok := tables[table]
		if !ok {
			continue
		}
		found["table "+table] = def
		if err := snapshotTable(ctx, db, table, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

func snapshotTable(ctx context.Context, db DB, table string, into map[string]string) error {
	info, err := object(ctx, db, "INFO FOR TABLE `"+table+"`")
	if err != nil {
		return err
	}
	for kind, key := range map[string]string{"field": "fields", "index": "indexes", "event": "events"} {
		for name, def := range names(info, key) {
			into[fmt.Sprintf("%s %s of %s", kind, name, table)] = def
		}
	}
	return nil
}
