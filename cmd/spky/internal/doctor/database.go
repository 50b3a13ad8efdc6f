package doctor

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/cmd/spky/internal/render"
	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/schema"
	"sp00ky.cloud/spky/surreal"
)

// maxOffset is how far this clock may be from the database's before it is worth
// a word. Leases run on the database's clock alone.
const maxOffset = 2 * time.Second

// waitingLong is how long a job may be due before something is wrong.
const waitingLong = time.Minute

func (e *exam) database(ctx context.Context, dbConfig surreal.Config, cfg *config.Config) {
	const name = "database connection"
	db, stop, err := surreal.Connect(ctx, dbConfig)
	if err != nil {
		fix := "start it, or correct --db-url, SPKY_DB_URL or surrealdb.endpoint"
		if surreal.IsAuth(err) {
			fix = "correct SPKY_DB_USER and SPKY_DB_PASS"
		} else if !cfg.SurrealDB.External {
			fix = "`spky dev` starts one there"
		}
		e.fail(name, err.Error(), fix)
		return
	}
	defer func() { _ = stop() }()
	e.pass(name, fmt.Sprintf("%s, namespace %s, database %s", dbConfig.Endpoint, dbConfig.Namespace, dbConfig.Database))
	e.version(ctx, db)
	e.clock(ctx, db)
	e.platform(ctx, db)
	nodes := e.nodes(ctx, db)
	seen := map[string]bool{}
	for _, b := range cfg.Backends {
		if b.Table != "" && !seen[b.Table] {
			seen[b.Table] = true
			e.table(ctx, db, b, useOf(cfg, b), nodes)
		}
	}
	e.queries(ctx, db, cfg)
	e.schedules(ctx, db, cfg)
}

var versionNumber = regexp.MustCompile(`(\d+)\.(\d+)\.(\d+)`)

func (e *exam) version(ctx context.Context, db *surreal.Client) {
	const name = "database version"
	text, err := db.Version(ctx)
	if err != nil {
		e.warn(name, "it does not say: "+err.Error(), "")
		return
	}
	m := versionNumber.FindStringSubmatch(text)
	if m == nil {
		e.warn(name, "it says "+text, "")
		return
	}
	major, _ := strconv.Atoi(m[1]) // digits
	minor, _ := strconv.Atoi(m[2])
	switch {
	case major < 3:
		e.warn(name, text+" is older than 3.0, which this program is made for", "upgrade the server; take `surreal export` first")
	case major == 3 && minor == 0:
		e.pass(name, text+"; 3.1 and later rewrite the data so that 3.0 cannot read it: take `surreal export` before upgrading. Only rocksdb (and TiKV) keeps concurrent writers apart; do not run on memory or surrealkv")
	default:
		e.pass(name, text)
	}
}

func (e *exam) clock(ctx context.Context, db *surreal.Client) {
	const name = "clock"
	sent := time.Now()
	there, err := surreal.First[time.Time](ctx, db, "RETURN time::now()", nil)
	if err != nil {
		e.fail(name, err.Error(), "")
		return
	}
	received := time.Now()
	offset := there.Sub(sent.Add(received.Sub(sent) / 2))
	detail := fmt.Sprintf("the database's clock is %s from this one; an answer takes %s", render.Span(offset.Abs()), render.Span(received.Sub(sent)))
	if offset.Abs() > maxOffset {
		e.warn(name, detail, "let NTP keep both; leases are safe, since only the database's clock counts for them")
		return
	}
	e.pass(name, detail)
}

// platform compares the platform's objects with what was applied, and who may
// read them.
func (e *exam) platform(ctx context.Context, db *surreal.Client) {
	const name = "platform schema"
	differences, err := schema.Verify(ctx, db)
	switch {
	case err != nil:
		e.fail(name, err.Error(), "sign in with a user that may read the schema (INFO FOR DB)")
		return
	case len(differences) == 0:
		e.pass(name, fmt.Sprintf("version %d", schema.Version))
	case differences[0].Object == "platform schema":
		e.warn(name, differences[0].String(), "`spky migrate` applies it; `spky run` does so at its start")
	default:
		for _, d := range differences {
			e.fail(name, d.String(), "`DELETE _00_schema:platform`, then `spky migrate`")
		}
	}
	e.permissions(ctx, db)
}

// openSelect recognises a table that record users may read as a whole.
var openSelect = regexp.MustCompile(`PERMISSIONS (FULL|.*FOR [a-z, ]*select[a-z, ]* FULL)`)

// permissions checks that no platform table lets record users read all of it. An
// owner's own rows are told apart by a WHERE.
func (e *exam) permissions(ctx context.Context, db *surreal.Client) {
	const name = "platform permissions"
	info, err := surreal.First[struct {
		Tables map[string]string `json:"tables"`
	}](ctx, db, "INFO FOR DB", nil)
	if err != nil {
		e.fail(name, err.Error(), "")
		return
	}
	var open []string
	looked := 0
	for table, definition := range info.Tables {
		if !strings.HasPrefix(table, "_00_") {
			continue
		}
		looked++
		if openSelect.MatchString(definition) {
			open = append(open, table)
		}
	}
	slices.Sort(open)
	if len(open) > 0 {
		e.fail(name, "record users can read all of "+strings.Join(open, ", "), "restore the definitions: `DELETE _00_schema:platform`, then `spky migrate`")
		return
	}
	if looked > 0 {
		e.pass(name, plural(looked, "platform table")+", none of which record users can read as a whole")
	}
}

func (e *exam) nodes(ctx context.Context, db *surreal.Client) []admin.Node {
	const name = "nodes"
	nodes, err := admin.NewCluster(admin.ClusterConfig{DB: db}).Nodes(ctx)
	if err != nil {
		e.fail(name, err.Error(), "")
		return nil
	}
	alive := 0
	for _, n := range nodes {
		switch n.State {
		case admin.NodeAlive:
			alive++
			e.circuits(n)
		case admin.NodeDead:
			e.warn(name, fmt.Sprintf("%s on %s has been silent for %s", n.Node, n.Host, render.Span(time.Duration(n.SilentMS)*time.Millisecond)),
				"it ended without saying so; its row is forgotten an hour after its last heartbeat, its jobs run elsewhere")
		}
	}
	if alive == 0 {
		e.warn(name, "no node runs", "`spky run` or `spky dev` starts one")
	} else {
		e.pass(name, plural(alive, "node")+" alive")
	}
	return nodes
}

func (e *exam) circuits(n admin.Node) {
	for _, b := range n.Backends {
		if b.Circuit == "open" {
			e.warn("backend "+b.Name, fmt.Sprintf("node %s holds its jobs back: %s", n.Node, b.CircuitReason), "start the backend, or correct its baseUrl or deploy.healthcheck")
		}
	}
}

// table looks at an outbox table: its columns, and whether its jobs move.
func (e *exam) table(ctx context.Context, db *surreal.Client, b config.Backend, u use, nodes []admin.Node) {
	name := "table " + b.Table
	box, err := schema.InspectOutbox(ctx, db, b.Table)
	if err != nil {
		e.fail(name, err.Error(), "`spky migrate`")
		return
	}
	clean := true
	for _, f := range box.Findings {
		clean = false
		severity := Warn
		if f.Fatal {
			severity = Fail
		}
		e.add(name, severity, "column "+f.Column+": "+f.Message, f.Remedy)
	}
	if len(box.Missing) > 0 {
		clean = false
		e.warn(name, plural(len(box.Missing), "platform column or index")+" missing",
			"`spky migrate`, or have an owner of the database run:\n"+strings.Join(box.Missing, "\n"))
	}
	if b.PartitionBy != "" {
		missing, err := box.MissingPartitions(b.PartitionBy)
		switch {
		case err != nil:
			clean = false
			e.fail(name, err.Error(), "define the column, or correct method.partitionBy")
		case len(missing) > 0:
			clean = false
			e.warn(name, plural(len(missing), "column or index")+" of partitions missing",
				"`spky run` adds them, or have an owner of the database run:\n"+strings.Join(missing, "\n"))
		}
	}
	if clean {
		e.pass(name, fmt.Sprintf("%d columns, none missing", len(box.Fields)))
	}
	if len(b.Workflows) > 0 && len(box.Missing) == 0 {
		e.durable(ctx, db, b, box)
	}
	if len(u.names) > 0 && len(box.Missing) == 0 {
		e.scheduled(ctx, db, u, box)
	}
	if box.Fields["run_at"] != "" {
		e.backlog(ctx, db, b.Table, nodes)
	}
}

// backlog looks at the job that has been due for longest.
func (e *exam) backlog(ctx context.Context, db *surreal.Client, table string, nodes []admin.Node) {
	name := "backlog of " + table
	now, err := surreal.First[time.Time](ctx, db, "RETURN time::now()", nil)
	if err != nil {
		e.fail(name, err.Error(), "")
		return
	}
	due, err := outbox.New(outbox.Config{DB: db, Name: table}).Due(ctx, time.Unix(0, 0), now, 1)
	if err != nil {
		e.fail(name, err.Error(), "")
		return
	}
	if len(due) == 0 {
		e.pass(name, "no job is due")
		return
	}
	late := now.Sub(due[0].RunAt)
	detail := fmt.Sprintf("%s has been due for %s", surreal.FormatID(due[0].ID), render.Span(late))
	switch {
	case !admin.Served(nodes, table):
		e.fail(name, detail+", and no living node takes jobs of this table", "`spky run` or `spky dev`, with a backend that has method.table: "+table)
	case late > waitingLong:
		e.warn(name, detail, "`spky nodes` shows whether slots are full or the backend's circuit is open")
	default:
		e.pass(name, detail)
	}
}
