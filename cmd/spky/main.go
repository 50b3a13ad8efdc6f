// Command spky runs the jobs and workflows of a project beside SurrealDB.
//
// Start with `spky help`. One file holds one command; what is more than
// command line lives in the packages below internal.
package main

import "os"

func main() {
	p := &program{in: os.Stdin, out: os.Stdout, err: os.Stderr, env: os.LookupEnv}
	os.Exit(p.runInterruptibly(os.Args[1:]))
}
