// Package migrate brings a database up to what a project declares.
//
// Three kinds of things are applied:
//
//   - Declared files: the schema (schema.surql) and the outbox schemas of the
//     backends. They say how things are. A file is applied as a whole, in one
//     transaction, when its checksum is not the recorded one.
//   - Migrations: migrations/<YYYYMMDDHHMMSS>_<name>.surql, in order. They say
//     what to do once. Each runs in a transaction of its own, together with the
//     row that records it, so it runs exactly once, whoever else migrates.
//   - The platform's own schema, and the columns that it needs in outbox tables.
//
// The order is: platform, declared files, migrations, declared files once more
// where a migration ran, columns of outbox tables. So a migration finds the
// tables of the schema, and what is declared has the last word.
//
// A DEFINE that says neither OVERWRITE nor IF NOT EXISTS is applied with
// OVERWRITE, so that it may be applied again; rows are kept. Two kinds are
// treated with more care: sequences, namespaces and databases get IF NOT
// EXISTS, since OVERWRITE would start them anew, and an access that did not
// change is left alone, since its signing key would be made anew and sign
// everybody out. What a declared file no longer mentions stays in the database;
// a migration removes it.
//
// Checksums are SHA-256 of the file with Unix line ends and are recorded in
// _00_migrations. A migration whose file changed after it ran is drift: nothing
// is applied until the file is restored or the change accepted.
//
// Nothing here drops a database, a table or a row on its own account.
package migrate
