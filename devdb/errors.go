package devdb

import (
	"errors"
	"fmt"
)

// ErrKilled is the reason of a server that [Server.Kill] ended.
var ErrKilled = errors.New("the development database was killed")

// MissingError says that this machine cannot run the embedded database. Its text names the three ways to get one.
type MissingError struct {
	What string // what is missing, for instance "npm is not on PATH"
}

func (e *MissingError) Error() string {
	return "the embedded development database cannot start: " + e.What + `. There are three ways to get a database:
  1. install Node.js 20 or newer with npm, and start again
  2. put a SurrealDB binary named surreal on PATH
  3. point SPKY_DB_URL, or surrealdb.endpoint in sp00ky.yml, at a running SurrealDB server`
}

// InstallError says that npm did not install the host's packages.
type InstallError struct {
	Dir    string // where it was to install them
	Output string // npm's own last words
	Err    error
}

func (e *InstallError) Error() string {
	return fmt.Sprintf("install the development database in %s: %v\n%s\nCheck the network and npm's registry (npm config get registry), "+
		"then start again; what is half installed is installed anew.", e.Dir, e.Err, e.Output)
}

func (e *InstallError) Unwrap() error { return e.Err }

// Reason classifies why the host refused to start.
type Reason string

// The reasons of a [StartError].
const (
	ReasonPort        Reason = "port"        // the address is in use, or cannot be listened on
	ReasonLocked      Reason = "locked"      // another process has the data directory open
	ReasonData        Reason = "data"        // the data directory cannot be written
	ReasonCredentials Reason = "credentials" // the data has the root user with another password
	ReasonUsage       Reason = "usage"       // the configuration is wrong
	ReasonEngine      Reason = "engine"      // anything else the engine said
)

// StartError says why the host refused to start, and the remedy.
type StartError struct {
	Reason  Reason
	Message string
}

func (e *StartError) Error() string { return "start the development database: " + e.Message }
