package config

import (
	_ "embed"
	"slices"
)

//go:embed schema.json
var jsonSchema []byte

// JSONSchema returns the JSON Schema (draft 2020-12) of sp00ky.yml, for editors
// and for the documentation. It holds the rules that concern the file alone: a
// file that it refuses has findings, warnings about unknown keys included. What
// depends on other files, on the environment or on two places of the file at
// once is for Lint alone.
func JSONSchema() []byte { return slices.Clone(jsonSchema) }
