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

// peers knows the nodes that are alive. Every node hears of every job at the same moment; were all
// to claim it at once, all but one would lose an optimistic conflict, and whole batches with it. So
// each job has one node whose turn it is, by rendezvous hashing, and the others give it a head
// start. Nothing depends on their agreement: the claim decides.
type peers struct {
	self string

	mu   sync.Mutex
	live []string
}

func (p *peers) set(live []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.live = slices.Sorted(slices.Values(live))
}

func (p *peers) all() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.live)
}

// turn is when this node may claim the job: at runAt, or after the head start of another node.
func (p *peers) turn(key string, runAt, now time.Time) time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.live) < 2 || first(p.live, key) == p.self {
		return runAt
	}
	if runAt.Before(now) {
		runAt = now
	}
	return runAt.Add(courtesy + rand.N(courtesyJitter)) //nolint:gosec // jitter
}

// first is the node with the highest hash together with key.
func first(nodes []string, key string) string {
	best, bestScore := "", uint64(0)
	for _, node := range nodes {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(node)) // a hash never fails
		_, _ = hash.Write([]byte{0})
		_, _ = hash.Write([]byte(key))
		if score := mix(hash.Sum64()); best == "" || score > bestScore {
			best, bestScore = node, score
		}
	}
	return best
}

// mix spreads FNV's weak high bits (the finalizer of MurmurHash3).
func mix(h uint64) uint64 {
	h ^= h >> 33
	h *= 0xff51afd7ed558ccd
	h ^= h >> 33
	h *= 0xc4ceb9fe1a85ec53
	return h ^ h>>33
}
