package main

import (
	"embed"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
)

//go:embed texts/*.txt
var shipped embed.FS

// A text is a document before it is split.
type text struct {
	name, title, body string
}

// texts reads what is shipped with the program, by name. A file begins with its title.
func texts() (map[string]text, error) {
	entries, err := shipped.ReadDir("texts")
	if err != nil {
		return nil, err
	}
	all := map[string]text{}
	for _, entry := range entries {
		content, err := shipped.ReadFile(path.Join("texts", entry.Name()))
		if err != nil {
			return nil, err
		}
		title, body, _ := strings.Cut(string(content), "\n")
		name := strings.TrimSuffix(entry.Name(), ".txt")
		all[name] = text{name: name, title: strings.TrimSpace(title), body: strings.TrimSpace(body)}
	}
	return all, nil
}

// textNamed finds a shipped text.
func textNamed(name string) (text, error) {
	all, err := texts()
	if err != nil {
		return text{}, fmt.Errorf("read the shipped texts: %w", err)
	}
	t, ok := all[name]
	if !ok {
		return text{}, notFound(fmt.Sprintf("no text named %q is shipped; there are %s", name, strings.Join(slices.Sorted(maps.Keys(all)), ", ")))
	}
	return t, nil
}

// slug makes a name of a title: lower-case letters, digits and single dashes.
func slug(title string) string {
	return strings.Join(words(strings.ReplaceAll(title, "'", "")), "-")
}
