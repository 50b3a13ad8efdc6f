// Package dev runs a whole project on one machine: database, schema, runner, and
// the development commands of its apps.
//
// The order of the start: lock the project, database, schema, runner, apps. The
// order of the end: no more claims, apps (SIGTERM, then SIGKILL after a grace),
// runner, database. Whatever ends this process, nothing that it started goes on;
// see package proc.
//
// The database is the first of: the one that configuration, environment or flags
// name; a surreal program on PATH, with its data in .sp00ky/data; the embedded
// one, with its data in .sp00ky/devdb. Data is only ever removed by Options.Clean,
// and only that in these two directories.
package dev
