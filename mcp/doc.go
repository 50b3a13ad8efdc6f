// Package mcp offers package admin's operations to AI agents, as tools, resources and a prompt of the
// Model Context Protocol, over standard input and output and over HTTP.
//
// # What it guarantees
//
// Scope. A caller who may only read sees only tools that read; calling another one is an error of that
// tool, and changes nothing.
//
// Size. A row of a list has less than 200 bytes, a list 20 rows unless more were asked for, and goes on
// with a cursor. A value longer than 1 KiB is cut; the answer says how to get the rest of it, piece by
// piece, or a part of it by its JSON pointer. No answer is longer than 64 KiB.
//
// Data stays data. Names, errors and values that end users, backends and workflows wrote are only ever
// in fields of JSON or in quotes, never in sentences of ours. Characters that cannot be seen, control
// characters among them, are shown as \u{200b}.
//
// Errors. What cannot be done is an error of the tool, JSON as {code, message, hint}: code is input,
// not_found, step_not_found, exists, state, scope, timeout or internal. An error with the code state names the state
// that was found and what is possible in it.
//
// # Transports
//
// [Server.Serve] serves one client on a pair of streams. [Server.Handler] serves any number over
// streamable HTTP, without sessions: each request stands for itself, carries its own authentication, and
// any node can answer it. A resource can be subscribed to on streams, and over HTTP by clients that
// speak the protocol of 2026-07-28, whose subscription is a request of its own; older clients over HTTP
// are told that there is no subscribing.
package mcp
