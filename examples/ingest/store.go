package main

import (
	"context"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"time"

	"sp00ky.cloud/spky/surreal"
)

var (
	//go:embed surql/write.surql
	writeStatement string
	//go:embed surql/owner.surql
	ownerStatement string
	//go:embed surql/state.surql
	stateStatement string
	//go:embed surql/pages.surql
	pagesStatement string
)

// A store keeps documents in the database.
type store struct {
	client *surreal.Client
	// table is the outbox that the jobs come from.
	table string
}

// owner is the user to whom a job is assigned, nil for nobody.
func (s *store) owner(ctx context.Context, job string) (*surreal.RecordID, error) {
	if job == "" {
		return nil, nil //nolint:nilnil // nobody is an owner too
	}
	id, err := surreal.ParseID(job)
	if err != nil || id.Table != s.table {
		return nil, badRequest(fmt.Sprintf("Spky-Job-Id %q is no job of table %s", job, s.table))
	}
	owner, err := surreal.First[*surreal.RecordID](ctx, s.client, ownerStatement, map[string]any{"job": id})
	if err != nil {
		return nil, fmt.Errorf("read the owner of %s: %w", job, err)
	}
	return owner, nil
}

// write stores an index as rows whose ids follow from owner, document, page and word. A document
// that was written under the same key and of the same text is left alone.
func (s *store) write(ctx context.Context, owner *surreal.RecordID, key string, ix index) error {
	id := documentID(owner, ix.text.name)
	if key != "" {
		done, err := s.written(ctx, id, key, ix.digest)
		if err != nil || done {
			return err
		}
	}
	vars := map[string]any{"document": documentRow(id, owner, key, ix), "pages": pageRows(id, owner, ix), "words": wordRows(id, owner, ix)}
	if err := surreal.Exec(ctx, s.client.Retrying(), writeStatement, vars); err != nil {
		return fmt.Errorf("write %s: %w", ix.text.name, err)
	}
	return nil
}

func (s *store) written(ctx context.Context, id surreal.RecordID, key, digest string) (bool, error) {
	rows, err := surreal.First[[]struct {
		Job    string `json:"job"`
		Digest string `json:"digest"`
	}](ctx, s.client, stateStatement, map[string]any{"document": id})
	if err != nil {
		return false, fmt.Errorf("look for an earlier attempt: %w", err)
	}
	return len(rows) > 0 && rows[0].Job == key && rows[0].Digest == digest, nil
}

// pages are the texts of an indexed document's pages, none when it is not indexed.
func (s *store) pages(ctx context.Context, owner *surreal.RecordID, name string) ([]string, error) {
	rows, err := surreal.First[[]struct {
		Text string `json:"text"`
	}](ctx, s.client, pagesStatement, map[string]any{"document": documentID(owner, name)})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	pages := make([]string, len(rows))
	for i, row := range rows {
		pages[i] = row.Text
	}
	return pages, nil
}

func documentRow(id surreal.RecordID, owner *surreal.RecordID, key string, ix index) map[string]any {
	row := map[string]any{
		"id": id, "owner": orNone(owner), "name": ix.text.name, "title": ix.text.title, "digest": ix.digest,
		"pages": len(ix.pages), "words": ix.words, "distinct": len(ix.counts), "job": surreal.None, "indexed_at": time.Now(),
	}
	if key != "" {
		row["job"] = key
	}
	return row
}

func pageRows(document surreal.RecordID, owner *surreal.RecordID, ix index) []map[string]any {
	rows := make([]map[string]any, len(ix.pages))
	for i, p := range ix.pages {
		rows[i] = map[string]any{
			"id": below("page", document, i+1), "owner": orNone(owner), "document": document, "digest": ix.digest,
			"number": i + 1, "text": p.text, "words": p.words,
		}
	}
	return rows
}

func wordRows(document surreal.RecordID, owner *surreal.RecordID, ix index) []map[string]any {
	rows := make([]map[string]any, 0, len(ix.counts))
	for _, word := range slices.Sorted(maps.Keys(ix.counts)) {
		c := ix.counts[word]
		rows = append(rows, map[string]any{
			"id": below("word", document, word), "owner": orNone(owner), "document": document, "digest": ix.digest,
			"word": word, "total": c.total, "on_page": c.onPage,
		})
	}
	return rows
}

func documentID(owner *surreal.RecordID, name string) surreal.RecordID {
	return ownedID("document", owner, name)
}

func materialID(owner *surreal.RecordID, name string) surreal.RecordID {
	return ownedID("material", owner, name)
}

// ownedID is [owner, name]; nobody is the empty text.
func ownedID(table string, owner *surreal.RecordID, name string) surreal.RecordID {
	who := ""
	if owner != nil {
		who = surreal.FormatID(*owner)
	}
	return surreal.RecordID{Table: table, ID: []any{who, name}}
}

// below is the id of something in a document or material: its own, and one thing more.
func below(table string, whole surreal.RecordID, what any) surreal.RecordID {
	return surreal.RecordID{Table: table, ID: append(slices.Clone(whole.ID.([]any)), what)} //nolint:forcetypeassert // made by ownedID
}

func orNone(owner *surreal.RecordID) any {
	if owner == nil {
		return surreal.None
	}
	return *owner
}
