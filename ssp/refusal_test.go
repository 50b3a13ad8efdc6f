package ssp

import (
	"errors"
	"strings"
	"testing"

	"sp00ky.cloud/spky/surreal"
)

func TestARefusalStandsUntilAWriteIsAccepted(t *testing.T) {
	t.Parallel()
	var r refusal
	evil := errors.New("evil")
	if !r.note(evil) || r.note(evil) {
		t.Error("the feed is renewed at the first refusal only")
	}
	if r.standing() != evil { //nolint:errorlint // the very one
		t.Error("the refusal does not stand")
	}
	if r.note(nil) || r.standing() != nil {
		t.Error("the refusal stands although a write was accepted")
	}
}

// TestALiveSelectThatFailsIsOvercome has a record user whose LIVE SELECT fails at every update of
// the table. The database goes on evaluating it when the user has gone.
func TestALiveSelectThatFailsIsOvercome(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.exec("DEFINE TABLE user PERMISSIONS FULL; DEFINE ACCESS account ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $name) SIGNIN (SELECT * FROM user WHERE name = $name)", nil)
	r.exec("DEFINE TABLE OVERWRITE job SCHEMAFULL PERMISSIONS FOR select FULL FOR create, update, delete NONE", nil)
	n := r.start(s.backends())

	cfg := r.cfg
	cfg.Username, cfg.Password = "", ""
	cfg.Record = &surreal.RecordUser{Access: "account", SignUp: true, Variables: map[string]any{"name": "evil"}}
	evil, hangUp, err := surreal.Connect(testContext(t), cfg)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := evil.Live(testContext(t), surreal.LiveConfig{Statement: "LIVE SELECT * FROM job WHERE $event != 'CREATE' AND { THROW 'evil' }"}); err != nil {
		t.Fatal(err)
	}
	id := r.job("victim", "/ok", nil)
	r.eventually("the node says what is wrong", func() bool {
		return strings.Contains(strings.Join(n.troubles(), "\n"), "refuses the runner's writes")
	})
	if err := hangUp(); err != nil {
		t.Fatal(err)
	}
	r.settled(id, "success")
	r.eventually("the node is content", func() bool { return len(n.troubles()) == 0 })
	if got := len(s.requests("/ok")); got != 1 {
		t.Errorf("%d requests", got)
	}
}

// TestAReaderCanNotRunANode signs in as a database user whose writes are refused without an error.
func TestAReaderCanNotRunANode(t *testing.T) {
	t.Parallel()
	r := newJobs(t)
	s := serve(t, nil)
	r.start(s.backends()).stop() // leaves nothing to define
	r.exec("DEFINE USER reader ON DATABASE PASSWORD 'p' ROLES VIEWER", nil)
	cfg := Config{DB: r.cfg, Backends: s.backends()}
	cfg.DB.Username, cfg.DB.Password = "reader", "p"
	node, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	if err := node.Run(testContext(t)); err == nil || !strings.Contains(err.Error(), "may not write") {
		t.Errorf("it ended with %v", err)
	}
}
