package surreal

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/devdb"
	"sp00ky.cloud/spky/surreal/faultproxy"
)

func TestConnectSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(http.NotFoundHandler())
	defer web.Close()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	freed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	freed.Close()
	good := testConfig(t)
	with := func(change func(*Config)) Config {
		cfg := good
		change(&cfg)
		return cfg
	}
	cases := map[string]struct {
		cfg   Config
		words []string
		is    func(error) bool
	}{
		"refused":       {with(func(c *Config) { c.Endpoint = "ws://" + freed.Addr().String() }), []string{"nothing listens", "start SurrealDB"}, nil},
		"not SurrealDB": {with(func(c *Config) { c.Endpoint = web.URL }), []string{"404", "check the address"}, nil},
		"silent":        {with(func(c *Config) { c.Endpoint = "ws://" + silent.Addr().String(); c.DialTimeout = 100 * time.Millisecond }), []string{"did not answer in time"}, nil},
		"password":      {with(func(c *Config) { c.Password = "wrong" }), []string{"check username and password"}, IsAuth},
		"user":          {with(func(c *Config) { c.Username = "nobody" }), []string{`"nobody"`}, IsAuth},
		"no record":     {with(func(c *Config) { c.Database, c.Record = "", &RecordUser{Access: "account"} }), []string{"needs an access, a namespace and a database"}, nil},
		"record user":   {with(func(c *Config) { c.Record = &RecordUser{Access: "nowhere", SignUp: true} }), []string{`access "nowhere"`}, nil},
		"no config":     {Config{Database: "d", PingInterval: -1}, []string{"endpoint is missing", "username is missing", "needs a namespace", "ping interval is negative"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			_, _, err := Connect(testContext(t), tc.cfg)
			if err == nil {
				t.Fatal("connected")
			}
			for _, word := range tc.words {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%q lacks %q", err, word)
				}
			}
			if tc.is != nil && !tc.is(err) {
				t.Errorf("%v is not recognised", err)
			}
		})
	}
}

func TestEndpoints(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"ws://localhost:8000":        "ws://localhost:8000/rpc",
		"ws://localhost:8000/":       "ws://localhost:8000/rpc",
		"ws://localhost:8000/rpc":    "ws://localhost:8000/rpc",
		"ws://localhost:8000/rpc/":   "ws://localhost:8000/rpc",
		"http://db":                  "ws://db:80/rpc",
		"https://db.example.com":     "wss://db.example.com:443/rpc",
		"wss://db.example.com/x/rpc": "wss://db.example.com:443/x/rpc",
		"ws://[::1]:8000":            "ws://[::1]:8000/rpc",
	} {
		if got, err := normaliseEndpoint(endpoint); err != nil || got != want {
			t.Errorf("%s: %s, %v; want %s", endpoint, got, err, want)
		}
	}
	for _, endpoint := range []string{"", "localhost:8000", "/rpc", "ftp://x", "ws://", "ws://root:root@db", "ws://\x7f"} {
		if got, err := normaliseEndpoint(endpoint); err == nil {
			t.Errorf("%q became %s", endpoint, got)
		} else if strings.Contains(err.Error(), "root:root") {
			t.Errorf("%q shows a password", err)
		}
	}
}

func TestUsersOfEveryLevelSignIn(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	root := connect(t, cfg)
	name := "u" + cfg.Database
	exec(t, root, fmt.Sprintf("DEFINE USER %s ON DATABASE PASSWORD 'db' ROLES OWNER; DEFINE USER %s_ns ON NAMESPACE PASSWORD 'ns' ROLES OWNER", name, name), nil)
	for user, password := range map[string]string{name: "db", name + "_ns": "ns"} {
		cfg := cfg
		cfg.Username, cfg.Password = user, password
		c := connect(t, cfg)
		exec(t, c, "CREATE seen SET by = $by", map[string]any{"by": user})
		db, err := First[string](testContext(t), c, "RETURN session::db()", nil)
		if err != nil || db != cfg.Database {
			t.Errorf("%s is in database %q, %v", user, db, err)
		}
	}
}

// TestRecordUsers signs a record user up, in, and in again after the connection was lost, and looks that
// the permissions are his.
func TestRecordUsers(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	root := connect(t, cfg)
	exec(t, root, `
		DEFINE TABLE user SCHEMALESS PERMISSIONS NONE;
		DEFINE TABLE note SCHEMALESS PERMISSIONS FOR select WHERE owner = $auth;
		DEFINE ACCESS account ON DATABASE TYPE RECORD
			SIGNUP (CREATE user SET name = $name, word = $word)
			SIGNIN (SELECT * FROM user WHERE name = $name AND word = $word);`, nil)
	proxy, cfg := proxied(t, cfg)
	ann := &RecordUser{Access: "account", Variables: map[string]any{"name": "ann", "word": "secret", "DB": "other"}}
	cfg.Username, cfg.Password, cfg.Record = "", "", ann
	if _, _, err := Connect(testContext(t), cfg); err == nil || strings.Contains(err.Error(), "secret") {
		t.Fatalf("a user who has not signed up: %v", err)
	}
	ann.SignUp = true
	for range 2 { // up, then in
		c := connect(t, cfg)
		live, err := c.Live(testContext(t), LiveConfig{Statement: "LIVE SELECT * FROM note"})
		if err != nil {
			t.Fatal(err)
		}
		exec(t, root, "CREATE note SET owner = NONE; CREATE note SET owner = (SELECT VALUE id FROM ONLY user LIMIT 1)", nil)
		<-live.C()
		if events, _ := live.Take(); len(events) != 1 {
			t.Errorf("%d notes were announced, want the own one", len(events))
		}
		proxy.Reset()
		notes, err := First[[]any](testContext(t), c, "SELECT * FROM note WHERE owner = $auth", nil)
		for errors.Is(err, ErrDisconnected) {
			notes, err = First[[]any](testContext(t), c, "SELECT * FROM note WHERE owner = $auth", nil)
		}
		if err != nil || len(notes) != 1 {
			t.Errorf("after a lost connection %d notes are seen, %v", len(notes), err)
		}
		exec(t, root, "DELETE note", nil)
	}
	if users, err := First[[]any](testContext(t), root, "SELECT * FROM user", nil); err != nil || len(users) != 1 {
		t.Errorf("users %v, %v", users, err)
	}
}

// Reports 16 and 39.
func TestFaultsAreNoticedAndMended(t *testing.T) {
	t.Parallel()
	faults := map[string]func(*faultproxy.Proxy){
		"reset":      (*faultproxy.Proxy).Reset,
		"fin":        (*faultproxy.Proxy).Fin,
		"half close": (*faultproxy.Proxy).HalfClose,
		"blackhole":  func(p *faultproxy.Proxy) { p.Blackhole(true) },
		"cut":        (*faultproxy.Proxy).Cut,
	}
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxy, cfg := proxied(t, testConfig(t))
			seen := watch(&cfg)
			c := connect(t, cfg)
			exec(t, c, "DEFINE TABLE a", nil)
			live := openLive(t, c, LiveConfig{Statement: "LIVE SELECT * FROM a"})

			inFlight := make(chan error, 1)
			go func() { inFlight <- Exec(testContext(t), c, "SLEEP 20s", nil) }()
			waitUntilSent(t, c)
			fault(proxy)

			if err := <-inFlight; !errors.Is(err, ErrDisconnected) || !IsUnreachable(err) {
				t.Errorf("in flight: %v", err)
			}
			down := seen.until(t, func(s State) bool { return !s.Connected })
			if !errors.Is(down.Err, ErrDisconnected) {
				t.Errorf("state: %+v", down)
			}
			<-live.C()
			if err := live.Err(); !errors.Is(err, ErrDisconnected) {
				t.Errorf("live: %v", err)
			}
			waiting := make(chan error, 1)
			go func() { waiting <- Exec(testContext(t), c, "RETURN 1", nil) }()
			proxy.Restore()
			if err := <-waiting; err != nil {
				t.Errorf("a call that waited: %v", err)
			}
			seen.until(t, func(s State) bool { return s.Connected && s.Reconnects >= 1 })
		})
	}
}

// waitUntilSent returns when a call's frame has been written and it waits for the answer.
func waitUntilSent(tb testing.TB, c *Client) {
	tb.Helper()
	ctx := testContext(tb)
	for ctx.Err() == nil {
		t := c.alive()
		t.calls.mu.Lock()
		for _, call := range t.calls.waiting {
			if call.state.Load() == frameWritten {
				t.calls.mu.Unlock()
				// What was written before this answer is with the server now.
				if _, err := First[int](ctx, c, "RETURN 1", nil); err != nil {
					tb.Fatal(err)
				}
				return
			}
		}
		t.calls.mu.Unlock()
	}
	tb.Fatal("nothing was sent")
}

func TestNotConnectedCallsFailWithTheReason(t *testing.T) {
	t.Parallel()
	proxy, cfg := proxied(t, testConfig(t))
	seen := watch(&cfg)
	c := connect(t, cfg)
	proxy.Cut()
	seen.until(t, func(s State) bool { return !s.Connected })
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, err := c.Query(ctx, "RETURN 1", nil)
	if !errors.Is(err, ErrNotConnected) || !errors.Is(err, context.DeadlineExceeded) || !IsUnreachable(err) {
		t.Errorf("got %v", err)
	}
	if c.State().Err == nil {
		t.Error("the state has no reason")
	}
}

// A link of 20 kB/s carries a request that takes longer than any silence may last, because bytes keep moving.
func TestSlowLinkIsNotADeadLink(t *testing.T) {
	t.Parallel()
	proxy, cfg := proxied(t, testConfig(t))
	seen := watch(&cfg)
	c := connect(t, cfg)
	proxy.Dribble(20_000)
	sent := strings.Repeat("slow ", 12_000)
	got, err := First[string](testContext(t), c, "RETURN $x", map[string]any{"x": sent})
	if err != nil || got != sent {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
	if state := seen.until(t, func(s State) bool { return s.Connected }); state.Reconnects > 0 {
		t.Errorf("it reconnected: %+v", state)
	}
}

func TestDelayedLink(t *testing.T) {
	t.Parallel()
	proxy, cfg := proxied(t, testConfig(t))
	c := connect(t, cfg)
	proxy.Delay(150 * time.Millisecond)
	for range 3 {
		if n, err := First[int](testContext(t), c, "RETURN 1", nil); n != 1 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
	}
	if c.State().Reconnects > 0 {
		t.Errorf("it reconnected: %+v", c.State())
	}
}

func TestServerKilledAndRestarted(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	server, err := devdb.Start(testContext(t), devdb.Config{Listen: "127.0.0.1:0", Data: data})
	if err != nil {
		t.Fatal(err)
	}
	cfg := Config{
		Endpoint: server.Endpoint(), Username: server.User(), Password: server.Password(),
		Namespace: "n", Database: "d", MaxBackoff: 100 * time.Millisecond,
	}
	seen := watch(&cfg)
	c := connect(t, cfg)
	exec(t, c, "CREATE job:1 SET kept = true", nil)
	inFlight := make(chan error, 1)
	go func() { inFlight <- Exec(testContext(t), c, "SLEEP 20s", nil) }()
	waitUntilSent(t, c)
	if err := server.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := <-inFlight; !errors.Is(err, ErrDisconnected) {
		t.Errorf("in flight: %v", err)
	}
	seen.until(t, func(s State) bool { return !s.Connected })
	waiting := make(chan error, 1)
	go func() {
		kept, err := First[bool](testContext(t), c, "RETURN job:1.kept", nil)
		if err == nil && !kept {
			err = errors.New("the record is gone")
		}
		waiting <- err
	}()
	again, err := devdb.Start(testContext(t), devdb.Config{Listen: strings.TrimPrefix(server.Endpoint(), "ws://"), Data: data})
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if err := <-waiting; err != nil {
		t.Errorf("a call that waited: %v", err)
	}
}

func TestExpiredSessionIsSignedInAgainUnnoticed(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	root := connect(t, cfg)
	exec(t, root, "DEFINE USER short ON DATABASE PASSWORD 'pw' ROLES OWNER DURATION FOR TOKEN 1s, FOR SESSION 1s", nil)
	cfg.Username, cfg.Password = "short", "pw"
	c := connect(t, cfg)
	ctx := testContext(t)
	for c.State().Reconnects == 0 {
		if n, err := First[int](ctx, c, "RETURN 1", nil); n != 1 || err != nil {
			t.Fatalf("%d, %v; state %+v", n, err, c.State())
		}
	}
}

func TestWrongPasswordIsRetriedAndShown(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	root := connect(t, cfg)
	cfg.Username, cfg.Password, cfg.MaxBackoff = "late", "pw", 50*time.Millisecond
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- c.Run(ctx) }()
	first := <-c.failed
	if !IsAuth(first) || !IsAuth(c.State().Err) || c.State().Connected {
		t.Errorf("first attempt: %v; state %+v", first, c.State())
	}
	exec(t, root, "DEFINE USER late ON DATABASE PASSWORD 'pw' ROLES OWNER", nil)
	<-c.Ready()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("Run: %v", err)
	}
}

func TestAfterTheEnd(t *testing.T) {
	t.Parallel()
	c, stop, err := Connect(testContext(t), testConfig(t))
	if err != nil {
		t.Fatal(err)
	}
	exec(t, c, "DEFINE TABLE a", nil)
	live, err := c.Live(testContext(t), LiveConfig{Statement: "LIVE SELECT * FROM a"})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(stop(), stop()); err != nil {
		t.Error(err)
	}
	if _, err := c.Query(testContext(t), "RETURN 1", nil); !errors.Is(err, ErrClosed) {
		t.Errorf("Query: %v", err)
	}
	if _, err := c.Live(testContext(t), LiveConfig{Statement: "LIVE SELECT * FROM a"}); !errors.Is(err, ErrClosed) {
		t.Errorf("Live: %v", err)
	}
	if !errors.Is(live.Err(), ErrClosed) {
		t.Errorf("a live query: %v", live.Err())
	}
	live.Close(testContext(t))
	if err := c.Run(testContext(t)); err == nil {
		t.Error("it ran twice")
	}
	if state := c.State(); state.Connected || !errors.Is(state.Err, ErrClosed) {
		t.Errorf("state: %+v", state)
	}
}

// TestStartStop is about leaks and races; TestMain looks for goroutines that stayed.
func TestStartStop(t *testing.T) {
	t.Parallel()
	cfg := testConfig(t)
	for range 25 {
		c, stop, err := Connect(testContext(t), cfg)
		if err != nil {
			t.Fatal(err)
		}
		calls := make(chan error, 8)
		for range cap(calls) {
			go func() { _, err := c.Query(testContext(t), "RETURN 1", nil); calls <- err }()
		}
		if err := stop(); err != nil {
			t.Error(err)
		}
		for range cap(calls) {
			if err := <-calls; err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("got %v", err)
			}
		}
	}
}
