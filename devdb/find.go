package devdb

import (
	"context"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// minNode is the oldest major version of Node.js that runs the host.
const minNode = 20

// Tools says which of the programs a database can come from exist on this machine. An empty path means that the program
// is not on PATH.
type Tools struct {
	Node        string // path of node
	NodeVersion string // for instance "v20.20.2"; empty when node did not say
	Platform    string // what node runs on, in its words, for instance "linux-x64"; empty when node did not say
	NPM         string // path of npm
	Surreal     string // path of a SurrealDB binary, which devdb itself does not use
}

// askNode prints the version and the platform.
const askNode = "process.stdout.write(process.version + ' ' + process.platform + '-' + process.arch)"

// Find looks for the programs on PATH and asks node for its version.
func Find(ctx context.Context) Tools {
	t := Tools{Node: lookPath("node"), NPM: lookPath("npm"), Surreal: lookPath("surreal")}
	if t.Node != "" {
		if out, err := exec.CommandContext(ctx, t.Node, "-e", askNode).Output(); err == nil {
			t.NodeVersion, t.Platform, _ = strings.Cut(string(out), " ")
		}
	}
	return t
}

// check returns nil when devdb can start, and a [*MissingError] when it cannot. A host that is installed already needs no
// npm.
func (t Tools) check(installed bool) error {
	if t.Node == "" {
		return &MissingError{What: "Node.js is not on PATH"}
	}
	if major := nodeMajor(t.NodeVersion); major < minNode {
		return &MissingError{What: fmt.Sprintf("%s is Node.js %s, older than %d", t.Node, orUnknown(t.NodeVersion), minNode)}
	}
	if t.NPM == "" && !installed {
		return &MissingError{What: "npm is not on PATH"}
	}
	return nil
}

func lookPath(name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		return ""
	}
	return path
}

// nodeMajor reads the 20 of "v20.20.2"; 0 when it is not there.
func nodeMajor(version string) int {
	major, _, _ := strings.Cut(strings.TrimPrefix(version, "v"), ".")
	n, err := strconv.Atoi(major)
	if err != nil {
		return 0
	}
	return n
}

func orUnknown(version string) string {
	if version == "" {
		return "of an unknown version"
	}
	return version
}
