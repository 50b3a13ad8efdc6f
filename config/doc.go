// Package config reads sp00ky.yml: it parses the file, expands ${VAR}
// references, lets the environment and then the command line win over it,
// checks every rule and hands out one typed [Config].
//
// # Faults
//
// Nothing is reported one at a time. [Load] and [Lint] collect every fault of
// the file, of the files it refers to, of the environment and of the flags, and
// return them together as [Finding] values. A Finding says where (file, line,
// column, key path), what was found, what is allowed, and what to do about it.
//
//	sp00ky.yml:12:20: apps.api.method.concurrency: found 0, allowed: a whole number from 1 to 10000; …
//
// A known key with a bad value is an error. A key that nobody knows is a
// warning that names the nearest known key. Keys of the sp00ky framework that
// do not concern this program are accepted in silence.
//
// # Where a value comes from
//
//	flags (Options.Overrides)  over
//	environment (Options.Env)  over
//	the file                   over
//	the defaults
//
// A value of the file that is overridden is not expanded, so an unset ${VAR}
// in it is no fault.
//
// # References
//
// auth.token, baseUrl, surrealdb.endpoint, surrealdb.username,
// surrealdb.password and everything under admin take references:
//
//	${VAR}            the variable, which has to be set
//	${VAR:-text}      the variable, or text when it is unset or empty
//	{vault: KEY}      the variable KEY, else KEY of the app's env sources
//	$${               the two characters "${", not a reference
//
// Any other dollar sign stands for itself. What a variable holds is never
// expanded again.
//
// # Secrets
//
// Passwords, tokens and the variables of apps are [Secret] values. They print,
// log and marshal as "***"; only [Secret.Reveal] gives the text. No Finding
// quotes a secret.
package config
