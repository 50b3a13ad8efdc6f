package plan

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// What the job backend does with a job.
const (
	JobOK       = "ok"       // answers at once
	JobSlow     = "slow"     // works for WorkMS
	JobFlaky    = "flaky"    // fails Fails attempts with 500, 503 or 429
	JobTorn     = "torn"     // breaks off in the middle of its answer, Fails times
	JobHang     = "hang"     // does not answer the first attempt
	JobText     = "text"     // answers text
	JobDeny     = "deny"     // answers 400, which is final
	JobExhaust  = "exhaust"  // never succeeds
	JobLater    = "later"    // is due after DelayMS
	JobCanceled = "canceled" // is cancelled before it is due, at Cancel
	JobAgain    = "again"    // a DAG's: answers 400 until its step has been retried so often
)

// A Job of the job backend.
type Job struct {
	ID   string
	At   time.Duration
	Kind string
	// N is what the backend has to give back.
	N, Fails, WorkMS, DelayMS, MaxRetries int
	// Tenant is the partition of a job of the table that has such, 0 for one of the other table.
	Tenant int
	// Silent jobs are written in a way that notifies nobody.
	Silent bool
	// Cancel is when its cancellation is asked for, if it is.
	Cancel time.Duration
}

// TenantConcurrency is how many jobs of a tenant run at once.
const TenantConcurrency = 2

// tenants is how many tenants there are.
const tenants = 12

// Table is the outbox table that the job is written to.
func (j Job) Table() string {
	if j.Tenant > 0 {
		return "part_job"
	}
	return "job"
}

// Key is the job's record id as text.
func (j Job) Key() string { return j.Table() + ":" + j.ID }

// Ends are the states that the job may end in.
func (j Job) Ends() []string {
	switch j.Kind {
	case JobDeny, JobExhaust:
		return []string{"failed"}
	case JobCanceled:
		return []string{"cancelled", "success"} // the second where the request came too late
	}
	return []string{"success"}
}

// generous is a number of attempts that no amount of faults uses up.
const generous = 100

func drawJobs(r *rand.Rand, o Options) []Job {
	kinds := []weighted[string]{
		{JobOK, 58}, {JobSlow, 12}, {JobFlaky, 10}, {JobTorn, 3}, {JobHang, 1}, {JobText, 4}, {JobDeny, 3}, {JobExhaust, 2}, {JobLater, 5}, {JobCanceled, 2},
	}
	jobs := make([]Job, o.Jobs)
	for i := range jobs {
		j := Job{ID: fmt.Sprintf("j%06d", i), At: between(r, 0, o.Length*9/10), Kind: choose(r, kinds), N: r.IntN(1 << 30), MaxRetries: generous}
		j.Silent = r.IntN(10) == 0
		switch j.Kind {
		case JobSlow:
			// Some take so long that whoever took them from a frozen node is still at it when that thaws.
			j.WorkMS = choose(r, []weighted[int]{{300, 6}, {2500, 2}, {7000, 3}}) + r.IntN(5000)
		case JobFlaky, JobTorn:
			j.Fails = 1 + r.IntN(3)
		case JobExhaust:
			j.MaxRetries = 1 + r.IntN(3)
		case JobLater:
			j.DelayMS = 200 + r.IntN(15000)
		case JobCanceled:
			j.DelayMS = 8000 + r.IntN(8000)
			j.Cancel = j.At + between(r, time.Second, 6*time.Second)
		}
		jobs[i] = j
	}
	apart := stream(o.Seed, 4)
	for i := range jobs {
		if apart.IntN(5) == 0 {
			jobs[i].Tenant = 1 + apart.IntN(tenants)
		}
	}
	byTime(jobs, func(j Job) time.Duration { return j.At })
	return jobs
}
