package ssp

import (
	"math"
	"time"
)

const (
	// recentParts parts of recentPart are the minute that a recent looks back at.
	recentParts  = 6
	recentLength = 10 * time.Second
	// Attempts are counted by how long they took, in steps of a fourth of an octave: a quantile is right
	// to about a fifth. The first step ends at recentLeast, the last is beyond the longest timeout.
	recentSteps = 96
	recentLeast = 250 * time.Microsecond
)

// A recent counts a lane's attempts of about the last minute. It is guarded by the lane's mu.
type recent struct {
	start time.Time
	parts [recentParts]recentPart
}

type recentPart struct {
	number int64 // of the ten seconds it counts, from start; what is older is over
	failed int
	took   [recentSteps]int
}

// note counts an attempt that has ended.
func (r *recent) note(took time.Duration, failed bool) {
	if r.start.IsZero() {
		r.start = time.Now()
	}
	number := int64(time.Since(r.start) / recentLength)
	part := &r.parts[number%recentParts]
	if part.number != number {
		*part = recentPart{number: number}
	}
	if failed {
		part.failed++
	}
	part.took[recentStep(took)]++
}

func recentStep(took time.Duration) int {
	step := math.Ceil(4 * math.Log2(float64(max(took, 1))/float64(recentLeast)))
	return int(min(max(step, 0), recentSteps-1))
}

// A recently is what a recent says.
type recently struct {
	attempts, failures int
	p50, p99           time.Duration
}

func (r *recent) sum() recently {
	var sum recently
	if r.start.IsZero() {
		return sum
	}
	oldest := int64(time.Since(r.start)/recentLength) - recentParts
	var took [recentSteps]int
	for _, part := range r.parts {
		if part.number <= oldest {
			continue
		}
		sum.failures += part.failed
		for step, n := range part.took {
			took[step] += n
			sum.attempts += n
		}
	}
	sum.p50, sum.p99 = quantile(took[:], sum.attempts, .5), quantile(took[:], sum.attempts, .99)
	return sum
}

// quantile is the end of the step in which it lies; 0 where nothing was counted.
func quantile(took []int, all int, q float64) time.Duration {
	rank, seen := int(math.Ceil(q*float64(all))), 0
	for step, n := range took {
		if seen += n; seen >= rank && seen > 0 {
			return time.Duration(float64(recentLeast) * math.Pow(2, float64(step)/4))
		}
	}
	return 0
}
