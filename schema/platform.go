package schema

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"regexp"
	"strings"
)

// Version numbers the platform's schema. It grows with every change of a file below surql/.
const Version = 11

//go:embed surql/*.surql
var files embed.FS

var (
	definedTable    = regexp.MustCompile(`(?m)^DEFINE TABLE OVERWRITE (\w+)`)
	definedFunction = regexp.MustCompile(`(?m)^DEFINE FUNCTION OVERWRITE fn::([\w:]+)\(`)
)

// Statements is the platform's whole schema as one SurrealQL text, in the order it is applied.
func Statements() string {
	found, err := fs.Glob(files, "surql/[0-9]*.surql") // Glob sorts
	if err != nil {
		panic(err) // the pattern is constant
	}
	var all strings.Builder
	for _, name := range found {
		all.WriteString(read(name))
		all.WriteString("\n")
	}
	return all.String()
}

// Checksum is the SHA-256 of Statements, in hexadecimal.
func Checksum() string {
	sum := sha256.Sum256([]byte(Statements()))
	return hex.EncodeToString(sum[:])
}

// Tables names the platform's tables.
func Tables() []string { return matches(definedTable) }

// Functions names the platform's functions, without the leading fn::.
func Functions() []string { return matches(definedFunction) }

func matches(pattern *regexp.Regexp) []string {
	var all []string
	for _, m := range pattern.FindAllStringSubmatch(Statements(), -1) {
		all = append(all, m[1])
	}
	return all
}

func read(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(fmt.Sprintf("schema: %v", err)) // embedded at build time
	}
	return string(text)
}
