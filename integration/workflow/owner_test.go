package workflow_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	surrealdb "github.com/surrealdb/surrealdb.go"
	"github.com/surrealdb/surrealdb.go/pkg/connection"
	"github.com/surrealdb/surrealdb.go/pkg/models"

	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/wf"
)

// access lets anybody sign up: as a user who sees the own row, or as a shadow, whose row nobody may
// select, so that $auth.id is NONE to it. strangers come with a token that names nobody: see stranger.
const access = `
DEFINE TABLE user SCHEMAFULL PERMISSIONS FOR select WHERE id = $auth;
DEFINE FIELD name ON user TYPE string;
DEFINE ACCESS account ON DATABASE TYPE RECORD SIGNUP (CREATE user SET name = $name) SIGNIN (SELECT * FROM user WHERE name = $name);
DEFINE TABLE shadow SCHEMAFULL PERMISSIONS NONE;
DEFINE FIELD name ON shadow TYPE string;
DEFINE ACCESS shadows ON DATABASE TYPE RECORD SIGNUP (CREATE shadow SET name = $name) SIGNIN (SELECT * FROM shadow WHERE name = $name);
DEFINE ACCESS strangers ON DATABASE TYPE JWT ALGORITHM HS512 KEY 'the key of strangers';`

type object = map[string]any

// A user is somebody on the official SDK with its own transport: any client, in short.
type user struct {
	*rig
	name string
	db   *surrealdb.DB
	id   models.RecordID
}

// join connects somebody new: with an access as its user, with none as a guest.
func (r *rig) join(access, name string) *user {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := surrealdb.FromEndpointURLString(ctx, r.Target.Endpoint)
	check(r.t, err)
	r.t.Cleanup(func() { check(r.t, conn.Close(context.Background())) })
	check(r.t, conn.Use(ctx, r.Target.Namespace, r.Target.Database))
	u := &user{rig: r, name: name, db: conn}
	if access == "" {
		return u
	}
	_, err = conn.SignUp(ctx, object{"NS": r.Target.Namespace, "DB": r.Target.Database, "AC": access, "name": name})
	check(r.t, err)
	u.id, _ = u.query("RETURN $auth", nil).(models.RecordID)
	return u
}

// stranger connects somebody who is nobody: $auth is NONE, permissions apply, and there is no role. That is what a guest is
// to a server with --allow-guests. A guest himself can't be had: to the embedded engine, in which authentication is
// always off, a session that has not signed in is root, and so the development database asks it to sign in. Of calls
// of functions a stranger says nothing: to those the engine gives whoever has no role the role of their definer, except
// guests and record users.
func (r *rig) stranger() *user {
	r.t.Helper()
	u := r.join("", "stranger")
	part := func(v any) string {
		text, err := json.Marshal(v)
		check(r.t, err)
		return base64.RawURLEncoding.EncodeToString(text)
	}
	token := part(object{"alg": "HS512", "typ": "JWT"}) + "." + part(object{
		"ns": r.Target.Namespace, "db": r.Target.Database, "ac": "strangers", "rl": []string{}, "exp": time.Now().Add(time.Hour).Unix(),
	})
	mac := hmac.New(sha512.New, []byte("the key of strangers"))
	mac.Write([]byte(token))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	check(r.t, u.db.Authenticate(ctx, token+"."+base64.RawURLEncoding.EncodeToString(mac.Sum(nil))))
	if who := u.query("RETURN $auth", nil); who != nil {
		r.t.Fatalf("the stranger is %v", who)
	}
	return u
}

func (u *user) try(surql string, vars object) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	results, err := surrealdb.Query[any](ctx, u.db, surql, vars)
	if err != nil {
		return nil, err
	}
	return (*results)[len(*results)-1].Result, nil
}

func (u *user) query(surql string, vars object) any {
	u.t.Helper()
	value, err := u.try(surql, vars)
	if err != nil {
		u.t.Fatalf("%s: %s: %v", u.name, surql, err)
	}
	return value
}

// sees is the number of rows of a table that the user can select.
func (u *user) sees(table string) int {
	u.t.Helper()
	value, err := u.try("SELECT * FROM "+table, nil)
	if err != nil && !u.excluded(err) {
		u.t.Errorf("%s selects %s: %v", u.name, table, err)
	}
	rows, _ := value.([]any)
	return len(rows)
}

// excluded says whether the server lets guests ask nothing at all, as it does unless it is told otherwise.
func (u *user) excluded(err error) bool {
	return u.id.Table == "" && strings.Contains(err.Error(), "Anonymous access not allowed")
}

func (u *user) listen(table string) <-chan connection.Notification {
	u.t.Helper()
	id, ok := u.query("LIVE SELECT * FROM "+table, nil).(models.UUID)
	if !ok {
		u.t.Fatalf("%s can't listen to %s", u.name, table)
	}
	events, err := u.db.LiveNotifications(id.String())
	check(u.t, err)
	return events
}

// hidden are the columns that are nobody's business but the platform's.
func hidden() []string {
	return []string{"lease_token", "lease_until", "fence", "job", "previous_job", "job_table", "stack"}
}

// TestOwnerSeesProgress: the owner of an instance sees it and its steps by SELECT and by LIVE, their
// deletion at a restart too, and never who runs it. Nobody else sees anything.
func TestOwnerSeesProgress(t *testing.T) {
	t.Parallel()
	var flow *wf.Workflow[int]
	r := newRig(t, func(e *wf.Engine) {
		flow = wf.Register(e, "OWNED", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (string, error) {
			for _, name := range []string{"one", "two"} {
				if _, err := wf.Do(ctx, s, name, func(context.Context) (string, error) { return name, nil }); err != nil {
					return "", err
				}
			}
			_, err := wf.WaitForEvent[string](ctx, s, "review", "reviewed")
			return "published", err
		})
	})
	r.Exec(access, nil)
	ann, bob := r.join("account", "ann"), r.join("account", "bob")
	others := []*user{bob, r.join("shadows", "shadow"), r.stranger(), r.join("", "guest")}
	hers, hersteps := ann.listen("_00_wf_instance"), ann.listen("_00_wf_step")
	var theirs []<-chan connection.Notification
	for _, u := range others {
		if u.name != "guest" { // may not listen at all, or hears nothing: both are fine
			theirs = append(theirs, u.listen("_00_wf_instance"), u.listen("_00_wf_step"))
		}
	}
	_, err := flow.Create(t.Context(), 0, wf.ID("ownerless"))
	check(t, err)
	i, err := flow.Create(t.Context(), 0, wf.ID("owned"), wf.OwnerRecord(surreal.RecordID(ann.id)))
	check(t, err)
	r.untilStatus(i, wf.Waiting)
	ownerless, err := flow.Get(t.Context(), "ownerless")
	check(t, err)
	r.untilStatus(ownerless, wf.Waiting)
	saw := r.collect(hers, func(n connection.Notification) bool { return row(n)["status"] == "waiting" })
	sawSteps := r.collect(hersteps, func(n connection.Notification) bool { return row(n)["name"] == "review" })
	if ann.sees("_00_wf_instance") != 1 || ann.sees("_00_wf_step") != 3 || ann.sees("_00_wf_event") != 0 {
		t.Errorf("the owner selects %d instances and %d steps", ann.sees("_00_wf_instance"), ann.sees("_00_wf_step"))
	}
	check(t, i.Restart(t.Context()))
	sawSteps = append(sawSteps, r.collect(hersteps, deletions(3))...)
	check(t, i.SendEvent(t.Context(), "reviewed", "yes"))
	saw = append(saw, r.collect(hers, func(n connection.Notification) bool { return row(n)["status"] == "complete" })...)
	last := row(saw[len(saw)-1])
	if last["output"] != "published" || fmt.Sprint(last["steps_done"]) != "3" {
		t.Errorf("at last she sees %v", last)
	}
	for _, n := range append(saw, sawSteps...) {
		for _, column := range hidden() {
			if value := row(n)[column]; value != nil {
				t.Errorf("she hears of %s = %v", column, value)
			}
		}
		if id := fmt.Sprint(row(n)["instance"], row(n)["id"]); strings.Contains(id, "ownerless") {
			t.Errorf("she hears of %v", row(n))
		}
	}
	for _, r := range []any{ann.query("SELECT * FROM _00_wf_instance", nil), ann.query("SELECT lease_token, lease_until, fence, job, previous_job, job_table FROM _00_wf_instance", nil)} {
		for _, column := range hidden() {
			if value := r.([]any)[0].(object)[column]; value != nil {
				t.Errorf("she selects %s = %v", column, value)
			}
		}
	}
	if found, _ := ann.query("SELECT id FROM _00_wf_instance WHERE fence > 0 OR lease_token != NONE OR job != NONE", nil).([]any); len(found) != 0 {
		t.Error("she finds instances by what is hidden")
	}
	for _, u := range others {
		for _, table := range []string{"_00_wf_instance", "_00_wf_step", "_00_wf_event"} {
			if n := u.sees(table); n != 0 {
				t.Errorf("%s selects %d rows of %s", u.name, n, table)
			}
		}
	}
	for _, c := range theirs {
		select {
		case n := <-c:
			t.Errorf("somebody else hears of %v", n.Result)
		default:
		}
	}
}

// row is what a notification shows.
func row(n connection.Notification) object {
	out, _ := n.Result.(object)
	return out
}

// deletions is done after so many deletions.
func deletions(n int) func(connection.Notification) bool {
	return func(e connection.Notification) bool {
		if e.Action == connection.DeleteAction {
			n--
		}
		return n == 0
	}
}

// collect takes notifications until one is the last.
func (r *rig) collect(c <-chan connection.Notification, last func(connection.Notification) bool) (saw []connection.Notification) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), patience)
	defer cancel()
	for {
		select {
		case n := <-c:
			saw = append(saw, n)
			if last(n) {
				return saw
			}
		case <-ctx.Done():
			r.t.Fatalf("the last notification never came; but %v", saw)
		}
	}
}

// TestProtocolIsNotForUsers: whoever is no system user changes nothing by any of the protocol's
// functions, not even the owner of an instance, and learns nothing of others' instances.
func TestProtocolIsNotForUsers(t *testing.T) {
	t.Parallel()
	h := newHold(t)
	h.Exec(access, nil)
	// Even where users may write jobs of their own.
	h.Exec("DEFINE TABLE OVERWRITE job SCHEMAFULL PERMISSIONS FOR select, create FULL, FOR update, delete NONE", nil)
	ann := h.join("account", "ann")
	users := []*user{ann, h.join("account", "bob"), h.join("shadows", "shadow"), h.join("", "guest")}
	states := h.states()
	ids := map[string]string{}
	for _, owned := range []bool{true, false} {
		for state, does := range map[string]string{"queued": "", "sleeping": "sleep", "waiting for an event": "event", "paused": "", "errored": "fail", "complete": ""} {
			var opts []wf.CreateOption
			if owned {
				opts = append(opts, wf.OwnerRecord(surreal.RecordID(ann.id)))
			}
			i, err := h.flow.Create(t.Context(), statesParams{does}, opts...)
			check(t, err)
			states[state](i)
			ids[fmt.Sprintf("%s, owned: %t", state, owned)] = i.ID()
		}
	}
	fences := map[string]int{}
	for _, id := range ids {
		fences[id] = h.Instance(id).Fence
	}
	calls := fencedCalls()
	for name, call := range map[string]string{
		"acquire": "acquire($id, 'STATES', NONE, 'mine', 1h)", "acquire by job": "acquire($id, 'STATES', 'job:x', 'mine', 1h)",
		"pause": "pause($id)", "resume": "resume($id)", "terminate": "terminate($id)", "restart": "restart($id)", "retry": "retry($id)",
		"restart from a step": "restart($id, { name: 's' })", "keep": "keep($id, 0, 100, 1h)", "postpone": "postpone($id, 0, 1h)", "seq_of": "seq_of($id, 0, { name: 's' })",
		"send_event": "send_event($id, 'go', 1)", "sweep": "sweep()", "rescue": "rescue(type::record('_00_wf_instance', $id))",
		"create":       "create({ id: 'forged', binding: 'STATES', params: 1, owner: $auth, backend: NONE, job_table: 'job', version: NONE })",
		"create_batch": "create_batch([{ id: 'forged', binding: 'STATES', params: 1, owner: $auth, backend: NONE, job_table: 'job', version: NONE }])",
		"create again": "create({ id: $id, binding: 'STATES', params: 1, owner: $auth, backend: NONE, job_table: 'job', version: NONE })",
		"output_of":    "output_of({ id: $id, step: { kind: 'do', name: 'a', occurrence: 1 } })",
		"dequeue":      "dequeue((SELECT VALUE id FROM job LIMIT 1)[0])", "revoke": "revoke((SELECT VALUE id FROM job LIMIT 1)[0])",
	} {
		calls[name] = "fn::spky::wf::" + call
	}
	before := h.fingerprint()
	for _, u := range users {
		for name, call := range calls {
			for state, id := range ids {
				answer, err := u.try("RETURN "+call, object{"id": id, "fence": fences[id]})
				if text := fmt.Sprint(answer, err); strings.Contains(text, "ok:true") || strings.Contains(text, "acquired") {
					t.Errorf("%s: %s of %s answers %s", u.name, name, state, text)
				}
			}
			if h.fingerprint() != before {
				t.Fatalf("%s: %s changed something", u.name, name)
			}
		}
		for _, statement := range []string{
			"CREATE _00_wf_instance:forged SET binding = 'STATES', status = 'queued', job_table = 'job'", "UPDATE _00_wf_instance SET status = 'complete'",
			"UPDATE _00_wf_instance SET owner = $auth", "DELETE _00_wf_instance", "UPDATE _00_wf_step SET output = 'forged'", "DELETE _00_wf_step",
			"CREATE _00_wf_event:['x', 0, 1] SET instance = _00_wf_instance:x, type = 'go'", "DELETE _00_wf_event", "UPSERT _00_wf_instance:forged SET binding = 'x'",
			"INSERT INTO _00_wf_instance { id: 'forged', binding: 'STATES' }", "RELATE _00_wf_instance:a->_00_wf_step->_00_wf_instance:b",
		} {
			_, err := u.try(statement, nil)
			if h.fingerprint() != before {
				t.Fatalf("%s: %s (%v) changed something", u.name, statement, err)
			}
		}
	}
}

// TestForgedJobs: a job that somebody writes by hand runs no workflow, whatever it names: an instance
// of the own or of others, a forged path, or the platform's own job's payload.
func TestForgedJobs(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec(access, nil)
	r.Exec("DEFINE TABLE OVERWRITE job SCHEMAFULL PERMISSIONS FOR select, create FULL, FOR update, delete NONE", nil)
	requests := make(chan string, 100)
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "SECRET", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		return 1, s.Sleep(ctx, "s", time.Hour)
	})
	handler := engine.Handler(http.NotFoundHandler())
	r.StartNode(r.Serve(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		requests <- req.URL.Path
		handler.ServeHTTP(w, req)
	})))
	ann := r.join("account", "ann")
	i, err := flow.Create(t.Context(), 0, wf.ID("known"), wf.OwnerRecord(surreal.RecordID(ann.id)))
	check(t, err)
	r.untilStatus(i, wf.Waiting)
	if path := <-requests; path != "/__spky/workflow/SECRET" {
		t.Fatalf("the first request is for %s", path)
	}
	r.Poll("the first job is done", func() (bool, any) { return r.count("job", "success") == 1, nil })
	was, forged := r.Instance("known"), 0
	for _, u := range []*user{ann, r.join("account", "bob"), r.join("", "guest")} {
		for _, path := range []string{"/__spky/workflow/SECRET", "/__SPKY/workflow/SECRET", "/x/../__spky/workflow/SECRET", "/%5F_spky/workflow/SECRET", "/__spky/workflow/SECRET?x", "/__spky;x/workflow/SECRET"} {
			for _, payload := range []any{object{"instance": "known"}, `{"instance":"known"}`, object{"instance": "unknown"}} {
				if _, err := u.try("CREATE job SET path = $path, payload = $payload", object{"path": path, "payload": payload}); err == nil {
					forged++
				} else if !u.excluded(err) {
					t.Errorf("%s can't write a job: %v", u.name, err)
				}
			}
		}
	}
	r.Exec("CREATE job SET path = '/ordinary', payload = {}", nil)
	r.Poll("all forged jobs are over", func() (bool, any) {
		left := read[[]string](r, "SELECT VALUE path FROM job WHERE status = 'processing' OR (status = 'pending' AND run_at <= time::now() AND path != '/ordinary')", nil)
		return len(left) == 0, left
	})
	refused := read[[][]object](r, "SELECT VALUE errors FROM job WHERE status = 'failed' AND path != '/ordinary'", nil)
	if len(refused) != forged || forged < 2*6*3 {
		t.Errorf("%d of %d forged jobs were refused", len(refused), forged)
	}
	for _, errs := range refused {
		if len(errs) != 1 || errs[0]["code"] != "refused" {
			t.Errorf("a forged job ends with %v", errs)
		}
	}
	if path := <-requests; path != "/ordinary" {
		t.Errorf("there was a request for %s", path)
	}
	if now := r.Instance("known"); now.Runs != was.Runs || now.Fence != was.Fence || surreal.FormatID(now.Job) != surreal.FormatID(was.Job) {
		t.Errorf("the instance went from\n%+v to\n%+v", was, now)
	}
}

// TestGuestsOwnNothing: whoever is nobody must not be taken for the owner of what nobody owns, neither by SELECT nor by
// LIVE, and writes nothing.
func TestGuestsOwnNothing(t *testing.T) {
	t.Parallel()
	h := newHold(t)
	h.Exec(access, nil)
	h.Exec(`DEFINE TABLE lax SCHEMALESS PERMISSIONS FOR select WHERE owner = $auth; CREATE lax:1`, nil)
	stranger := h.stranger()
	if stranger.sees("lax") != 1 {
		t.Fatal("to permissions that don't ask for it a stranger must be the owner of what has none, or he shows nothing here")
	}
	heard := []<-chan connection.Notification{stranger.listen("_00_wf_instance"), stranger.listen("_00_wf_step"), stranger.listen("_00_wf_event")}
	told := stranger.listen("lax")
	i, err := h.flow.Create(t.Context(), statesParams{"event"}) // without owner
	check(t, err)
	h.states()["waiting for an event"](i)
	check(t, i.SendEvent(t.Context(), "unheard", 1))
	before := h.fingerprint()
	for _, table := range []string{"_00_wf_instance", "_00_wf_step", "_00_wf_event"} {
		if all := len(read[[]any](h.rig, "SELECT VALUE id FROM "+table, nil)); all == 0 || stranger.sees(table) != 0 {
			t.Errorf("of %d rows of %s a stranger selects %d", all, table, stranger.sees(table))
		}
		for _, statement := range []string{"UPDATE %s SET owner = NONE, status = 'complete', output = 'forged'", "DELETE %s", "CREATE %s:forged SET binding = 'STATES', status = 'queued', job_table = 'job'", "UPSERT %s:forged SET binding = 'x'"} {
			_, err := stranger.try(fmt.Sprintf(statement, table), nil)
			if h.fingerprint() != before {
				t.Fatalf("%s on %s changed something (%v)", statement, table, err)
			}
		}
	}
	for table := range read[struct{ Tables map[string]string }](h.rig, "INFO FOR DB", nil).Tables {
		if n := stranger.sees(table); n != 0 && strings.HasPrefix(table, "_00_") {
			t.Errorf("a stranger selects %d rows of %s", n, table)
		}
	}
	h.Exec("UPDATE lax:1 SET last = true", nil)
	h.collect(told, func(n connection.Notification) bool { return row(n)["last"] == true }) // so all that came before has been told
	for _, c := range heard {
		select {
		case n := <-c:
			t.Errorf("a stranger hears of %v", n.Result)
		default:
		}
	}
}

// TestStacksAreForOperators: the owner sees the error of an instance and its steps, but not the stack
// of a panic, which tells of the backend's inside.
func TestStacksAreForOperators(t *testing.T) {
	t.Parallel()
	r := newDatabase(t)
	r.Exec(access, nil)
	ann := r.join("account", "ann")
	engine := r.newEngine(wf.Config{})
	flow := wf.Register(engine, "PANIC", func(ctx context.Context, _ wf.Event[int], s *wf.Step) (int, error) {
		_, _ = wf.Do(ctx, s, "boom", func(context.Context) (int, error) { panic("boom") }, wf.Retry(1, 0, wf.Constant)) // so that both are seen
		panic("bang")
	})
	i, err := flow.Create(t.Context(), 0, wf.OwnerRecord(surreal.RecordID(ann.id)))
	check(t, err)
	hers, hersteps := ann.listen("_00_wf_instance"), ann.listen("_00_wf_step")
	row := r.finish(engine.Handler(http.NotFoundHandler()), "PANIC", i)
	step := r.Steps(i.ID())["do boom #1"]
	for e, stack := range map[*errorRow]string{row.Error: row.Stack, step.Error: step.Stack} {
		if e == nil || e.Name != "PanicError" || !strings.Contains(stack, "owner_test.go") {
			t.Errorf("the operator sees %+v from %s", e, stack)
		}
	}
	report, err := i.Status(t.Context())
	check(t, err)
	if report.Error == nil || report.Error.Stack != row.Stack {
		t.Errorf("the backend sees %+v", report.Error)
	}
	saw := []any{ann.query("SELECT * FROM _00_wf_instance", nil), ann.query("SELECT * FROM _00_wf_step", nil), ann.query("SELECT error FROM _00_wf_instance", nil), ann.query("SELECT stack, error.stack AS s, attempts.error.stack AS a FROM _00_wf_step", nil)}
	done := func(n connection.Notification) bool { return n.Result.(object)["status"] == "errored" }
	for _, n := range slices.Concat(r.collect(hers, done), r.collect(hersteps, done)) {
		saw = append(saw, n.Result)
	}
	for _, v := range saw {
		if text := fmt.Sprint(v); strings.Contains(text, "_test.go") || strings.Contains(text, "goroutine") {
			t.Errorf("the owner sees %s", text)
		}
	}
	if text := fmt.Sprint(saw[:2]...); !strings.Contains(text, "panic: bang") || !strings.Contains(text, "panic: boom") {
		t.Errorf("the owner sees no error in %s", text)
	}
}
