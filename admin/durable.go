package admin

import (
	"slices"
	"strings"

	"sp00ky.cloud/spky/config"
	"sp00ky.cloud/spky/surreal"
	"sp00ky.cloud/spky/surreal/redact"
	"sp00ky.cloud/spky/wf"
)

// DurableConfig says where workflows live.
type DurableConfig struct {
	// DB is a connection of a user who may read and write the platform's tables.
	DB *surreal.Client
	// Backends are those of the configuration: they say which outbox table the runs of a new instance
	// go to. Without them instances can be looked at and acted upon, but not created.
	Backends []config.Backend
	// Redact says what is not to be shown.
	Redact redact.Rules
}

// Durable is what can be done to workflows and their instances. Its methods may be called from any
// goroutine.
type Durable struct {
	db       *surreal.Client
	backends []config.Backend
	hider    hider
	// most is how many bytes of outputs, or of payloads, one answer has. Defaults to maxShown.
	most int
}

// NewDurable makes it; nothing is sent.
func NewDurable(cfg DurableConfig) *Durable {
	return &Durable{db: cfg.DB, backends: cfg.Backends, hider: hider{db: cfg.DB, rules: cfg.Redact}}
}

// Statuses are the states of an instance, in the order of its life.
func Statuses() []wf.Status {
	return []wf.Status{wf.Queued, wf.Running, wf.Waiting, wf.Paused, wf.Complete, wf.Errored, wf.Terminated}
}

// Terminal says whether an instance in that state does nothing more by itself.
func Terminal(s wf.Status) bool { return s == wf.Complete || s == wf.Errored || s == wf.Terminated }

func words(statuses []wf.Status) string {
	var all []string
	for _, s := range statuses {
		all = append(all, string(s))
	}
	return strings.Join(all, ", ")
}

func known(s wf.Status) bool { return slices.Contains(Statuses(), s) }

// instanceTable is where instances are.
const instanceTable = "_00_wf_instance"

func instanceID(id string) surreal.RecordID { return surreal.RecordID{Table: instanceTable, ID: id} }
