package ssp

import (
	"sync"

	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal/redact"
)

// maxSaid bounds the texts of the database's errors that are logged, in bytes: it repeats rows of any length.
const maxSaid = 2000

// mask takes out of texts about an attempt what the configuration hides of its job. It is made when there is such a text,
// by whichever goroutine has the attempt.
func (l *lane) mask(job outbox.Job, v verdict) func() *redact.Mask {
	return sync.OnceValue(func() *redact.Mask {
		m := l.node.cfg.Redact.Mask()
		m.Add("payload", job.Payload)
		m.Add("result", v.result)
		return m
	})
}

// maskOf is the same of a schedule whose tick can't be started: the database may repeat what it refuses.
func (n *Node) maskOf(row schedule.Row) func() *redact.Mask {
	return func() *redact.Mask {
		m := n.cfg.Redact.Mask()
		m.Add("payload", row.Spec.Payload)
		m.Add("params", row.Spec.Payload)
		return m
	}
}

// masked is an error without what a mask hides.
type masked struct {
	error

	mask func() *redact.Mask
}

func (e masked) Error() string { return said(e.mask, e.error.Error(), maxSaid) }

func (e masked) Unwrap() error { return e.error }

// said is so much of a text without what a mask hides. It is cut first: what is cut off need not be looked through, and what
// the cut has left of a value is hidden, too.
func said(mask func() *redact.Mask, text string, n int) string { return mask().Text(cut(text, n)) }
