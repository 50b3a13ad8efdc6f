package ssp

import (
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

// A node leaves a job to the peer whose turn it is for this long, and a little more at random.
const (
	courtesy       = 200 * time.Millisecond
	courtesyJitter = 100 * time.Millisecond
)

// peers knows the nodes that are alive. Every node of a backend hears of each of its jobs at the same
// moment; were all to claim it at once, all but one would lose an optimistic conflict, and whole batches
// with it. So each job has one node whose turn it is, by rendezvous hashing among those that take jobs
// from its table, and the others give it a head start. Nothing depends on their agreement: the claim decides.
type peers struct {
	self string

	mu     sync.Mutex
	live   []string
	takers map[string][]string // by table: the other nodes that take jobs from it
}

// A taker is a node that takes jobs from tables, as the heartbeat's answer tells it.
type taker struct {
	Node   string   `json:"node"`
	Tables []string `json:"tables"`
}

func (p *peers) set(live []string, takers []taker) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = slices.Sorted(slices.Values(live))
	p.takers = map[string][]string{}
	for _, t := range takers {
		if t.Node == p.self {
			continue
		}
		for _, table := range t.Tables {
			p.takers[table] = append(p.takers[table], t.Node)
		}
	}
}

func (p *peers) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.live)
}

// turn is when this node, which takes jobs from the table, may claim one of it: at runAt, or after the head
// start of another node.
func (p *peers) turn(table, key string, runAt, now time.Time) time.Time {
	p.mu.Lock()
	others := p.takers[table] // replaced by set, never changed
	p.mu.Unlock()
	if len(others) == 0 || precedes(p.self, others, key) {
		return runAt
	}
	if runAt.Before(now) {
		runAt = now
	}
	return runAt.Add(courtesy + rand.N(courtesyJitter)) //nolint:gosec // jitter
}

// first is the node with the highest score.
func first(nodes []string, key string) string {
	best, bestScore := "", uint64(0)
	for _, node := range nodes {
		if s := score(node, key); best == "" || s > bestScore {
			best, bestScore = node, s
		}
	}
	return best
}

// precedes is whether node comes before all the others for key.
func precedes(node string, others []string, key string) bool {
	own := score(node, key)
	return !slices.ContainsFunc(others, func(other string) bool { return score(other, key) >= own })
}

// score is the hash of a node together with key.
func score(node, key string) uint64 {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(node)) // a hash never fails
	_, _ = hash.Write([]byte{0})
	_, _ = hash.Write([]byte(key))
	return mix(hash.Sum64())
}

// mix spreads FNV's weak high bits (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
