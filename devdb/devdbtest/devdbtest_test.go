package devdbtest_test

import (
	"testing"

	"sp00ky.cloud/spky/devdb/devdbtest"
)

func TestFreshDatabasesShareAServer(t *testing.T) {
	a, b := devdbtest.Fresh(t), devdbtest.Fresh(t)
	if a.Endpoint != b.Endpoint || a.Endpoint != devdbtest.Server(t).Endpoint() {
		t.Errorf("servers %s and %s", a.Endpoint, b.Endpoint)
	}
	if a.Database == b.Database {
		t.Errorf("both got database %s", a.Database)
	}
}

func TestFreshOnAnotherServer(t *testing.T) {
	t.Setenv("SPKY_TEST_DB_URL", "ws://127.0.0.1:1")
	t.Setenv("SPKY_TEST_DB_USER", "tester")
	got := devdbtest.Fresh(t)
	if got.Endpoint != "ws://127.0.0.1:1" || got.User != "tester" || got.Password != "root" || got.Database == "" {
		t.Errorf("got %+v", got)
	}
}
