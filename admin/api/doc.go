// Package api is the admin API over HTTP: package admin's operations below /admin/api, one line of a
// table each. It has no rules of its own but who may ask.
//
//	request ──▶ address held up? 429 ──▶ who is it? 401 ──▶ route? 404, 405 ──▶ scope? 403
//	        ──▶ query and body as the table says? 400, 413, 415, 422 ──▶ operation ──▶ answer
//
// The table also makes the OpenAPI 3.1 document at /admin/api/openapi.json, and what a query may hold
// is checked with the document's own schemas, so that the two cannot differ.
//
// # Guarantees
//
//   - Nothing but /health, /ready, /version, /admin/api/openapi.json and /admin/api/config is answered
//     without a valid token, also not whether a path exists.
//   - A token of scope read changes nothing; one that has expired or was revoked gets 401.
//   - Secrets are compared as hashes, in constant time. Ten failures within five minutes shut an
//     address out for the rest of them.
//   - Every error is {code, message, hint}; a conflict also has state and possible.
//   - A stream's reader that is slow misses intermediate states, never the last; it holds up nobody
//     and costs a bounded amount of memory. It is gone when its client is.
package api
