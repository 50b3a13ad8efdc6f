package mcp

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"sp00ky.cloud/spky/admin"
)

// FuzzArguments has anything as a tool's arguments: they are refused as such, or within the tool's bounds.
func FuzzArguments(f *testing.F) {
	for _, text := range []string{
		``, `{}`, `null`, `[]`, `{"limit": 5}`, `{"limit": -1}`, `{"limit": 1e400}`, `{"limit": 2.5}`, `{"limit": "5"}`, `{"LIMIT": 5000}`, `{"limit": 5, "limit": 5000}`,
		`{"status": "pending"}`, `{"status": "x"}`, `{"cursor": null}`, `{"unknown": 1}`, `{"q": "\ud800"}`, "{\"q\": \"\xff\"}", strings.Repeat(`{"q":`, 5000),
		`{"pointer": "/a", "offset": -5}`, `{"pointer": "/a", "Offset": -5}`, `{"offset": 1073741825}`, `{"limit": 0}`, `{"pointer": "/a", "offset": 3, "OFFSET": -3}`,
	} {
		f.Add(text)
	}
	lists, pieces := schemaOf[jobsIn](), schemaOf[pick]()
	properties(lists.Properties).limit(20, 100)
	properties(lists.Properties).enum("status", words(admin.JobStatuses())...)
	properties(pieces.Properties).between("offset", 0, 1<<30)
	properties(pieces.Properties).limit(defaultPiece, maxPiece)
	list, part := resolved(lists), resolved(pieces)
	f.Fuzz(func(t *testing.T, text string) {
		if in, err := parse[jobsIn](json.RawMessage(text), list.Validate); err == nil && (in.Limit < 0 || in.Limit > 100 || !utf8.ValidString(in.Query)) {
			t.Errorf("%q becomes %+v", text, in)
		}
		if in, err := parse[pick](json.RawMessage(text), part.Validate); err == nil && (in.Offset < 0 || in.Offset > 1<<30 || in.Limit < 0 || in.Limit > maxPiece) {
			t.Errorf("%q becomes %+v", text, in)
		}
	})
}

// FuzzPieces reads any value piece by piece, at any size: the pieces are the value's text, whole
// characters each, and nothing of it is hidden from whoever reads it.
func FuzzPieces(f *testing.F) {
	f.Add(`{"a": [1, "x", {"b~/": null}]}`, "/a/1", 3)
	f.Add(`"ä€😀\u200b"`, "", 1)
	f.Add(`{"": {"": 5}}`, "/", 4)
	f.Add(`{"a/b": 1, "a~1b": 2, "~0": 3}`, "/a~1b", 4)
	f.Add(`{"payload": "\u001b[2J\u202e"}`, "/payload", 7)
	f.Add(`[[[[1e400, -0, 1.0]]]]`, "/0/0", 5)
	f.Fuzz(func(t *testing.T, document, pointer string, limit int) {
		if !json.Valid([]byte(document)) {
			return
		}
		limit = max(4, min(limit, maxPiece)) // a character has up to four bytes
		var all strings.Builder
		for offset := 0; ; {
			got, err := pick{Pointer: pointer, Offset: offset, Limit: limit}.of(json.RawMessage(document))
			if err != nil {
				if offset > 0 {
					t.Fatalf("%q has no piece at %d: %v", document, offset, err)
				}
				return
			}
			text := got.Piece
			if got.JSON != nil {
				text = string(got.JSON)
			}
			if !utf8.ValidString(text) || strings.ContainsFunc(text, hidden) {
				t.Fatalf("%q at %q: the piece %q", document, pointer, text)
			}
			all.WriteString(text)
			if got.Next == 0 {
				if all.Len() != got.Bytes || !json.Valid([]byte(all.String())) {
					t.Fatalf("%q at %q: the pieces are %q, %d bytes are promised", document, pointer, all.String(), got.Bytes)
				}
				return
			}
			if got.Next <= offset {
				t.Fatalf("%q at %q: after %d comes %d", document, pointer, offset, got.Next)
			}
			offset = got.Next
		}
	})
}
