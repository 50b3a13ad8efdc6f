// Package dashboard is the operators' pages: jobs, workflows, instances, schedules, nodes, audit, as HTML made
// by the server, below /admin/. Like the admin API it is a thin shell on package admin; it has no statement of
// its own, and no rules but who may look.
//
//	request ──▶ asset? ──▶ session? else the login ──▶ a POST: same origin, CSRF token, scope full ──▶ operation ──▶ page
//
// A page is whole without scripts: links, forms, popovers. With them it moves: a stream of server-sent events,
// fed by LIVE SELECT, says that something has changed, and the page asks for itself again and morphs into the
// answer. A stream that drops comes back by itself, and its first word is to look again; so nothing is missed. While
// the database does not answer, looking again changes nothing but a word that says so.
//
// # Guarantees
//
//   - Nothing but the login and the assets is answered without a session. A session ends with its token: where that
//     was revoked at once, elsewhere within two seconds.
//   - A session of scope read sees no actions, and is refused them.
//   - Whatever rows hold is text on a page, never markup, a link or a script; the Content-Security-Policy allows no
//     inline script or style, and nothing of another origin.
//   - A page costs the database a bounded number of rows, however many there are.
package dashboard
