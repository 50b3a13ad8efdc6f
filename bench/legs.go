package bench

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"
)

// A Leg is one part of what a figure times: from the end of the part before it, or from the beginning, to its
// own. The medians of parts add up to about the median of the whole.
type Leg struct {
	Name string `json:"name"`
	Took Spread `json:"took_ms"`
}

// A moment is something that happens once in a run of a measured instance.
type moment int

const (
	requested moment = iota // the backend has the run's request
	began                   // the workflow's code begins: the instance is the run's
	resumed                 // the code after a wait or a sleep runs
	stepped                 // the code ends, all steps are committed
	ended                   // the run has answered
)

// moments tells who waits for something to happen to an instance when it did.
type moments struct {
	mu      sync.Mutex
	waiting map[momentOf]chan time.Time
}

type momentOf struct {
	instance string
	moment   moment
}

// expect answers where the time of the next such moment will be sent.
func (m *moments) expect(instance string, which moment) <-chan time.Time {
	waiter := make(chan time.Time, 1)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.waiting == nil {
		m.waiting = map[momentOf]chan time.Time{}
	}
	m.waiting[momentOf{instance, which}] = waiter
	return waiter
}

func (m *moments) happened(instance string, which moment) {
	m.mu.Lock()
	defer m.mu.Unlock()
	key := momentOf{instance, which}
	if waiter, ok := m.waiting[key]; ok {
		waiter <- time.Now() // room for one
		delete(m.waiting, key)
	}
}

// A course collects the legs of what is measured again and again.
type course struct {
	names []string
	took  map[string][]time.Duration
	last  time.Time
}

func newCourse(names ...string) *course {
	return &course{names: names, took: make(map[string][]time.Duration, len(names))}
}

// start begins the first leg.
func (c *course) start() time.Time {
	c.last = time.Now()
	return c.last
}

// reached ends a leg and begins the next one. Of things that happen at the same time in two places the second can be
// seen first: the leg between them has no length then.
func (c *course) reached(name string, at time.Time) {
	at = later(at, c.last)
	c.took[name] = append(c.took[name], at.Sub(c.last))
	c.last = at
}

// follow ends a leg at each of these moments of an instance, in their order.
func (c *course) follow(ctx context.Context, stops []stop) error {
	for _, s := range stops {
		at, err := first(ctx, s.at, s.name)
		if err != nil {
			return err
		}
		c.reached(s.name, at)
	}
	return nil
}

// A stop is where a leg ends.
type stop struct {
	name string
	at   <-chan time.Time
}

func (c *course) legs() []Leg {
	var legs []Leg
	for _, name := range c.names {
		if took := c.took[name]; len(took) > 0 {
			legs = append(legs, Leg{Name: name, Took: spread(took)})
		}
	}
	return legs
}

// legLine is the medians in one line, for people.
func legLine(legs []Leg) string {
	parts := make([]string, len(legs))
	for i, leg := range legs {
		parts[i] = fmt.Sprintf("%s %.2f", leg.Name, leg.Took.P50)
	}
	return strings.Join(parts, ", ")
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
