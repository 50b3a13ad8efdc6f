package config_test

import (
	"crypto/hmac"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/devdb/devdbtest"
)

// database speaks SQL over HTTP to a fresh database.
type database struct {
	tb     testing.TB
	target devdbtest.Target
	// token of a record user; root without one.
	token string
}

type outcome struct {
	Status string `json:"status"`
	Result any    `json:"result"`
}

// run executes statements and returns the outcome of each.
func (db database) run(sql string) []outcome {
	db.tb.Helper()
	url := strings.Replace(db.target.Endpoint, "ws", "http", 1)
	url = strings.TrimSuffix(url, "/rpc") + "/sql"
	req, err := http.NewRequestWithContext(db.tb.Context(), http.MethodPost, url, strings.NewReader(sql))
	if err != nil {
		db.tb.Fatal(err)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("Surreal-NS", db.target.Namespace)
	req.Header.Set("Surreal-DB", db.target.Database)
	if db.token != "" {
		req.Header.Set("Authorization", "Bearer "+db.token)
	} else {
		req.SetBasicAuth(db.target.User, db.target.Password)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		db.tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		db.tb.Fatal(err)
	}
	var outcomes []outcome
	if err := json.Unmarshal(body, &outcomes); err != nil {
		db.tb.Fatalf("%s: %s", res.Status, body)
	}
	return outcomes
}

// must executes statements of which none may fail and returns the last result.
func (db database) must(sql string) any {
	db.tb.Helper()
	outcomes := db.run(sql)
	for _, o := range outcomes {
		if o.Status != "OK" {
			db.tb.Fatalf("%v\n%s", o.Result, sql)
		}
	}
	return outcomes[len(outcomes)-1].Result
}

// row executes statements of which the last gives exactly one row.
func (db database) row(sql string) map[string]any {
	db.tb.Helper()
	rows, ok := db.must(sql).([]any)
	if !ok || len(rows) != 1 {
		db.tb.Fatalf("found %v, want one row\n%s", rows, sql)
	}
	return rows[0].(map[string]any)
}

const tokenKey = "a key that only this test knows, long enough for HS512"

// as returns the database as a record user sees it.
func (db database) as(user string) database {
	db.tb.Helper()
	claims, err := json.Marshal(map[string]any{
		"iss": "SurrealDB", "exp": time.Now().Add(time.Hour).Unix(),
		"NS": db.target.Namespace, "DB": db.target.Database, "AC": "account", "ID": user,
	})
	if err != nil {
		db.tb.Fatal(err)
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"HS512","typ":"JWT"}`)) + "." + encode(claims)
	mac := hmac.New(sha512.New, []byte(tokenKey))
	mac.Write([]byte(text))
	db.token = text + "." + encode(mac.Sum(nil))
	return db
}

// newOutbox returns a database with the generated outbox, two users and what
// the platform adds to the table.
func newOutbox(t *testing.T) (database, string) {
	t.Helper()
	schema, err := config.OutboxSchema("job", config.OutboxOptions{Backend: "api"})
	if err != nil {
		t.Fatal(err)
	}
	db := database{tb: t, target: devdbtest.Fresh(t)}
	db.must(`DEFINE TABLE user SCHEMALESS PERMISSIONS FOR select WHERE id = $auth;
		CREATE user:ann, user:bob;
		DEFINE ACCESS account ON DATABASE TYPE RECORD WITH JWT ALGORITHM HS512 KEY '` + tokenKey + `';`)
	db.must(schema)
	db.must(`DEFINE FIELD run_at ON job TYPE option<datetime>; DEFINE FIELD lease_epoch ON job TYPE option<int> PERMISSIONS NONE;`)
	return db, schema
}

func TestOutboxSchemaOnTheEngine(t *testing.T) {
	t.Parallel()
	db, schema := newOutbox(t)
	ann, bob := db.as("user:ann"), db.as("user:bob")

	job := ann.row(`CREATE job:a SET assigned_to = $auth, path = '/a', payload = {x: 1}, timeout = 5, delay = 10,
		max_retries = 2, retry_strategy = 'exponential'`)
	for key, want := range map[string]any{"status": "pending", "retries": 0.0, "max_retries": 2.0, "timeout": 5.0, "delay": 10.0, "retry_strategy": "exponential"} {
		if job[key] != want {
			t.Errorf("%s is %v, want %v", key, job[key], want)
		}
	}
	if _, shown := job["errors"]; shown {
		t.Error("the creator sees errors")
	}
	if rows := bob.must(`SELECT * FROM job`).([]any); len(rows) != 0 {
		t.Errorf("another user sees %v", rows)
	}
	for _, sql := range []string{
		`UPDATE job:a SET status = 'success'`, `UPDATE job:a SET path = '/b'`, `UPSERT job:a SET retries = 9`,
		`DELETE job:a RETURN BEFORE`, `CREATE job SET assigned_to = user:bob, path = '/b'`, `CREATE job SET path = '/unowned'`,
	} {
		if rows := ann.must(sql).([]any); len(rows) != 0 {
			t.Errorf("%s: the owner gets %v, want nothing", sql, rows)
		}
	}
	for _, forged := range []string{
		`status = 'success'`, `status = 'processing'`, `retries = 7`, `errors = [{code: 1}]`, `created_at = d'2001-01-01T00:00:00Z'`,
		`created_at = time::now() + 1h`, `status = NONE`, `retries = NULL`,
	} {
		for _, o := range ann.run(`CREATE job SET assigned_to = $auth, path = '/f', ` + forged) {
			if rows, isRows := o.Result.([]any); o.Status == "OK" && (!isRows || len(rows) != 0) {
				stored := rows[0].(map[string]any)
				if stored["status"] != "pending" || stored["retries"] != 0.0 {
					t.Errorf("a user may say %s: %v", forged, o.Result)
				}
			}
		}
	}
	ann.row(`CREATE job:f SET assigned_to = $auth, path = '/f', result = 'mine', lease_epoch = 9`)
	if stored := db.row(`SELECT * FROM job:f`); stored["result"] != nil || stored["lease_epoch"] != nil || len(stored["errors"].([]any)) != 0 {
		t.Errorf("a user wrote the runner's columns: %v", stored)
	}

	// What the runner and the platform do.
	before := db.row(`SELECT created_at FROM job:a`)["created_at"]
	after := db.row(`UPDATE job:a SET status = 'failed', retries = 1, result = {ok: false}, updated_at = time::now(),
		errors += {code: 500, reason: 'no', at: time::now(), attempt: 1}, run_at = NONE, lease_epoch = 2`)
	if entry := after["errors"].([]any)[0].(map[string]any); entry["code"] != 500.0 || entry["reason"] != "no" {
		t.Errorf("errors hold %v", entry)
	}
	if after["created_at"] != before {
		t.Errorf("created_at moved from %v to %v", before, after["created_at"])
	}
	db.row(`CREATE job:bare SET path = '/p', payload = {instance: 'i'}`)
	db.row(`UPDATE job:a SET status = 'cancelled'`)
	seen := ann.row(`SELECT * FROM job:a`)
	if _, shown := seen["lease_epoch"]; shown || seen["status"] != "cancelled" || seen["result"] == nil {
		t.Errorf("the owner sees %v", seen)
	}

	// The file can be applied again: rows and the platform's columns stay.
	db.must(schema)
	if again := db.row(`SELECT * FROM job:a`); again["lease_epoch"] != 2.0 || len(again["errors"].([]any)) != 1 {
		t.Errorf("after the second time the row is %v", again)
	}
	db.row(`UPDATE job:a SET errors += {code: 0}, lease_epoch = 3`)
}

func TestOutboxSchemaRefusesNames(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "Job", "_00_job", "1job", "job; REMOVE TABLE user", "jöb", strings.Repeat("j", 65)} {
		if text, err := config.OutboxSchema(name, config.OutboxOptions{}); err == nil {
			t.Errorf("%q: got %q", name, text)
		}
		if text, err := config.OutboxSchema("job", config.OutboxOptions{AssignedTo: name}); err == nil && name != "" {
			t.Errorf("assigned to %q: got %q", name, text)
		}
	}
}

func TestOutboxSchemaLeavesThePlatformsColumnsOut(t *testing.T) {
	t.Parallel()
	schema, err := config.OutboxSchema("task", config.OutboxOptions{Backend: "two\nlines", AssignedTo: "user"})
	if err != nil {
		t.Fatal(err)
	}
	for _, column := range []string{"run_at", "lease_until", "lease_epoch", "assignee", "cancel_requested"} {
		if strings.Contains(schema, "OVERWRITE "+column+" ") {
			t.Errorf("%s is defined", column)
		}
	}
	for _, text := range []string{"TYPE option<record<user>>", "DEFINE TABLE OVERWRITE task ", "two lines"} {
		if !strings.Contains(schema, text) {
			t.Errorf("%q is missing", text)
		}
	}
}
