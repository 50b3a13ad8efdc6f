package outbox

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"sp00ky.cloud/spky/surreal"
)

// A tally counts what is held of each partition, from the answer to a claim until just before its end is
// written: a part of the time in which the database says so.
type tally struct {
	mu    sync.Mutex
	held  map[string]int
	most  int
	ended map[string]int // by job
}

func (n *tally) note(key string, by int) {
	if key == "" {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.held[key] += by
	n.most = max(n.most, n.held[key])
}

// TestManyClaimersNeverExceedAPartition has claimers on connections of their own fight for the slots of few
// partitions, until all jobs are done.
func TestManyClaimersNeverExceedAPartition(t *testing.T) {
	t.Parallel()
	for _, limit := range []int{1, 3} {
		t.Run(fmt.Sprint(limit), func(t *testing.T) {
			t.Parallel()
			r := newParted(t, limit)
			const claimers, jobs = 6, 90
			for i := range jobs {
				tenant := any(i % 3)
				if i%10 == 9 {
					tenant = nil
				}
				r.jobOf(tenant, i)
			}
			n := &tally{held: map[string]int{}, ended: map[string]int{}}
			var wg sync.WaitGroup
			for c := range claimers {
				cfg := r.table.cfg
				cfg.DB = r.connect()
				table := New(cfg)
				wg.Go(func() { r.workOff(table, fmt.Sprint("node-", c), n, jobs) })
			}
			wg.Wait()
			if n.most > limit || n.most == 0 {
				t.Errorf("%d jobs of one partition were held at once, want %d at most", n.most, limit)
			}
			for i := range jobs {
				if got := n.ended[fmt.Sprint("job:", i)]; got != 1 {
					t.Errorf("job %d ended %d times", i, got)
				}
			}
		})
	}
}

// workOff claims and ends jobs until all have been ended by somebody.
func (r *rig) workOff(table *Table, node string, n *tally, jobs int) {
	for r.ctx.Err() == nil {
		n.mu.Lock()
		done := len(n.ended) == jobs
		n.mu.Unlock()
		if done {
			return
		}
		offer := Offer{Room: 1 + rand.IntN(8)}
		due, err := table.Due(r.ctx, time.Unix(0, 0), time.Now().Add(time.Minute), jobs)
		if err != nil {
			r.tb.Error(err)
			return
		}
		rand.Shuffle(len(due), func(i, j int) { due[i], due[j] = due[j], due[i] })
		for _, row := range due[:(len(due)+2)/3] { // each has heard of others, so they want other jobs for one slot
			offer.Looks = append(offer.Looks, Look{ID: row.ID})
		}
		waiting, err := table.Waiting(r.ctx, "", 10)
		if err != nil {
			r.tb.Error(err)
			return
		}
		for _, key := range waiting {
			offer.Looks = append(offer.Looks, Look{Partition: key})
		}
		got, err := table.ClaimPartitioned(r.ctx, node, offer)
		if err != nil || len(got.Refused) > 0 {
			r.tb.Errorf("claim: %v, refused %v", err, got.Refused)
			return
		}
		r.endAll(table, n, got.Jobs)
	}
}

func (r *rig) endAll(table *Table, n *tally, jobs []Job) {
	for _, job := range jobs {
		n.note(job.Partition, 1)
	}
	for _, job := range jobs {
		n.note(job.Partition, -1)
		got, err := table.Settle(r.ctx, []Outcome{{ID: job.ID, Epoch: job.Epoch, Status: Success}})
		if err != nil || !got[0].Written {
			r.tb.Errorf("settle: %+v, %v", got, err)
			return
		}
		n.mu.Lock()
		n.ended[surreal.FormatID(job.ID)]++
		n.mu.Unlock()
	}
}

// A partedModel is what jobs of a few tenants must be after any sequence of verbs and mishaps.
type partedModel struct {
	rig   *rig
	limit int
	round int
	jobs  []modelJob
	words []string
}

type modelJob struct {
	look   Look
	tenant int
	held   bool
	epoch  int64
	over   bool
}

func (m *partedModel) held(tenant int) int {
	n := 0
	for _, j := range m.jobs {
		if j.held && j.tenant == tenant {
			n++
		}
	}
	return n
}

func (m *partedModel) pick(t *rapid.T, which func(modelJob) bool) *modelJob {
	var found []int
	for i, j := range m.jobs {
		if which(j) {
			found = append(found, i)
		}
	}
	if len(found) == 0 {
		t.Skip("there is no such job")
	}
	return &m.jobs[rapid.SampledFrom(found).Draw(t, "job")]
}

func running(j modelJob) bool { return j.held }

func (m *partedModel) create(t *rapid.T) {
	tenant := rapid.IntRange(0, 2).Draw(t, "tenant") // 0 is none
	value := any(tenant)
	if tenant == 0 {
		value = surreal.None
	}
	m.jobs = append(m.jobs, modelJob{look: m.rig.jobOf(value, fmt.Sprint(m.round, "-", len(m.jobs))), tenant: tenant})
	m.words = append(m.words, fmt.Sprint("create of ", tenant))
}

// claim offers all jobs and all partitions. Then either the room is used up, or everything runs that may.
func (m *partedModel) claim(t *rapid.T) {
	offer := Offer{Room: rapid.IntRange(1, 6).Draw(t, "room")}
	for _, j := range m.jobs {
		offer.Looks = append(offer.Looks, j.look)
	}
	node := rapid.SampledFrom(modelNodes).Draw(t, "node")
	room := offer.Room
	for again := true; again && room > 0; {
		waiting, err := m.rig.table.Waiting(m.rig.ctx, "", 10)
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range waiting {
			offer.Looks = append(offer.Looks, Look{Partition: key})
		}
		offer.Room = room
		got := m.rig.offers(node, room, offer.Looks...)
		for _, job := range got.Jobs {
			m.claimed(t, job)
		}
		room -= len(got.Jobs)
		again = len(got.Jobs) > 0
	}
	m.words = append(m.words, fmt.Sprint(node, " claims ", offer.Room-room))
	if room > 0 {
		m.nothingIsLeft(t)
	}
}

func (m *partedModel) claimed(t *rapid.T, job Job) {
	for i := range m.jobs {
		if j := &m.jobs[i]; surreal.FormatID(j.look.ID) == surreal.FormatID(job.ID) {
			if j.held || j.over || (j.tenant == 0) != (job.Partition == "") {
				t.Fatalf("after %v: claimed %+v, which was %+v", m.words, job, *j)
			}
			j.held, j.epoch = true, job.Epoch
			return
		}
	}
	t.Fatalf("after %v: claimed %+v, which was not there", m.words, job)
}

func (m *partedModel) nothingIsLeft(t *rapid.T) {
	for _, j := range m.jobs {
		if !j.held && !j.over && (j.tenant == 0 || m.held(j.tenant) < m.limit) {
			t.Fatalf("after %v: %s of tenant %d was not claimed, %d run", m.words, surreal.FormatID(j.look.ID), j.tenant, m.held(j.tenant))
		}
	}
}

func (m *partedModel) end(t *rapid.T) {
	j := m.pick(t, running)
	status := rapid.SampledFrom([]Status{Success, Failed, Pending}).Draw(t, "status")
	if got := m.rig.settle(Outcome{ID: j.look.ID, Epoch: j.epoch, Status: status}); !got.Written {
		t.Fatalf("after %v: settled as %+v", m.words, got)
	}
	j.held, j.over = false, status != Pending
	m.words = append(m.words, fmt.Sprint("ends as ", status))
}

func (m *partedModel) expire(t *rapid.T) {
	j := m.pick(t, running)
	m.rig.setting(j.look.ID, "lease_until = time::now() - 1s, retries = 0")
	if got := m.rig.reap(j.look.ID); len(got) != 1 {
		t.Fatalf("after %v: reaped %v", m.words, got)
	}
	j.held = false
	m.words = append(m.words, "lease expires")
}

func (m *partedModel) drop(t *rapid.T) {
	j := m.pick(t, func(j modelJob) bool { return !j.over })
	m.rig.exec("DELETE $id", map[string]any{"id": j.look.ID})
	j.held, j.over = false, true
	m.words = append(m.words, "deleted")
}

// byHand sets a status without any verb.
func (m *partedModel) byHand(t *rapid.T) {
	j := m.pick(t, func(j modelJob) bool { return !j.over })
	m.rig.setting(j.look.ID, "status = 'cancelled'")
	j.held, j.over = false, true
	m.words = append(m.words, "cancelled by hand")
}

// check compares what runs and holds a slot with the model.
func (m *partedModel) check(t *rapid.T) {
	rows, err := surreal.First[[]struct {
		Tenant any    `json:"tenant"`
		Status Status `json:"status"`
		Slot   string `json:"partition_slot"`
		Queue  string `json:"partition_queue"`
	}](m.rig.ctx, m.rig.db, "SELECT tenant, status, partition_slot, partition_queue FROM job WHERE id IN $ids", map[string]any{"ids": m.ids()})
	if err != nil {
		t.Fatal(err)
	}
	count := map[string]int{}
	for _, row := range rows {
		if row.Status == Processing {
			count[fmt.Sprint(row.Tenant)]++
		}
		if (row.Slot != "") != (row.Status == Processing && row.Tenant != nil) || row.Queue != "" && row.Status != Pending {
			t.Fatalf("after %v: a row is %+v", m.words, row)
		}
	}
	for tenant := 1; tenant <= 2; tenant++ {
		if n := count[fmt.Sprint(tenant)]; n > m.limit || n != m.held(tenant) {
			t.Fatalf("after %v: %d jobs of tenant %d run, want %d", m.words, n, tenant, m.held(tenant))
		}
	}
}

func (m *partedModel) ids() []surreal.RecordID {
	ids := make([]surreal.RecordID, len(m.jobs))
	for i, j := range m.jobs {
		ids[i] = j.look.ID
	}
	return ids
}

// TestPartitionsAreWhatTheirModelSays runs random verbs and mishaps over a few tenants' jobs.
func TestPartitionsAreWhatTheirModelSays(t *testing.T) {
	t.Parallel()
	limit := 2
	r := newParted(t, limit)
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		r.exec("DELETE job RETURN NONE", nil)
		m := &partedModel{rig: r, limit: limit, round: round}
		for range 4 {
			m.create(t)
		}
		t.Repeat(map[string]func(*rapid.T){
			"create": m.create, "claim": m.claim, "claim too": m.claim, "end": m.end, "expire": m.expire, "drop": m.drop, "by hand": m.byHand, "": m.check,
		})
	})
}
