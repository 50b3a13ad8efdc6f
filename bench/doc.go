// Package bench measures a whole installation: real database, real HTTP, the node as it runs in
// production. Every figure stands beside a ceiling or a floor taken in the same run on the same
// machine, because absolute figures say little; see [Jobs].
package bench
