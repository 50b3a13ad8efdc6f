package surreal

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

// The database keeps in memory who listens to a table, and drops that list just before a subscription comes or goes.
// A transaction that is older than that, and writes to the table afterwards, makes the list anew as it was before:
// then the new subscription hears nothing, or the one that has ended goes on costing every write of the table as much
// again, until the next one comes or goes. So the list is dropped again a little later, by when such transactions are
// over; a subscription in a transaction that is taken back does that, and leaves nothing in the list itself.

// forgetAfter is when the list is dropped again after a change: early for most writes, and late for long ones.
func forgetAfter() []time.Duration {
	return []time.Duration{20 * time.Millisecond, 250 * time.Millisecond, time.Second}
}

// forgetTimeout limits one attempt. There is nothing to be done about one that fails.
const forgetTimeout = 5 * time.Second

// ForgetListeners makes the database forget the list of a table's subscriptions that it keeps in memory; the next
// write reads it anew. That heals subscriptions, whoever's they are, that are deaf from the beginning because an older
// transaction wrote to the table. The table's name is taken as it is, without quotes.
func (c *Client) ForgetListeners(ctx context.Context, table string) error {
	err := Exec(ctx, c, "BEGIN; LIVE SELECT id FROM "+quoteName(table)+" WHERE false; CANCEL", nil)
	var taken *QueryError
	if errors.As(err, &taken) && taken.detail("Cancelled") {
		return nil // as it was meant
	}
	return err
}

// A forgetter has the database forget lists of listeners when their time has come.
type forgetter struct {
	mu   sync.Mutex
	due  []forgetting
	wake chan struct{} // has room for one
}

type forgetting struct {
	table string
	at    time.Time
}

// changed plans for a table to which a subscription has come, or from which one has gone.
func (f *forgetter) changed(table string) {
	if table == "" {
		return
	}
	now := time.Now()
	delays := forgetAfter()
	f.mu.Lock()
	f.due = slices.DeleteFunc(f.due, func(d forgetting) bool { return d.table == table && d.at.After(now.Add(delays[0])) })
	for _, delay := range delays {
		f.due = append(f.due, forgetting{table, now.Add(delay)})
	}
	f.mu.Unlock()
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// next is the table whose list is to be forgotten now, "" where there is none, and how long until there will be one.
func (f *forgetter) next(now time.Time) (table string, wait time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()
	wait = time.Hour
	for i, d := range f.due {
		if !d.at.After(now) {
			f.due = slices.Delete(f.due, i, i+1)
			return d.table, 0
		}
		wait = min(wait, d.at.Sub(now))
	}
	return "", wait
}

// forget does what is planned until ctx ends.
func (c *Client) forget(ctx context.Context) {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for ctx.Err() == nil {
		table, wait := c.forgetter.next(time.Now())
		if table != "" {
			c.forgetNow(ctx, table)
			continue
		}
		timer.Reset(wait)
		select {
		case <-ctx.Done():
		case <-c.forgetter.wake:
		case <-timer.C:
		}
	}
}

func (c *Client) forgetNow(ctx context.Context, table string) {
	if c.alive() == nil {
		return // its subscriptions are gone, and others will come
	}
	ctx, cancel := context.WithTimeout(ctx, forgetTimeout)
	defer cancel()
	if err := c.ForgetListeners(ctx, table); err != nil {
		c.cfg.Logger.Debug("forget who listens", "table", table, "error", err)
	}
}
