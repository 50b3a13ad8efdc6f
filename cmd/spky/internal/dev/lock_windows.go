package dev

// lock locks nothing: the database's own lock is what keeps a second one out.
func lock(string) (release func(), err error) { return func() {}, nil }
