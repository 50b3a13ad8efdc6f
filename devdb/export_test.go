package devdb

// HostHash is for tests that look into the cache directory.
var HostHash = hostHash
