// Package mcp holds spky's MCP server against clients that others wrote: the MCP Inspector's command
// line, the TypeScript SDK's client, and the protocol's conformance suite, over standard input and
// output and over HTTP. It has only tests.
package mcp
