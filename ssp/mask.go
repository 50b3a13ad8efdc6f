package ssp

import (
	"sp00ky.cloud/spky/outbox"
	"sp00ky.cloud/spky/ssp/schedule"
	"sp00ky.cloud/spky/surreal/redact"
)

// mask takes out of texts about an attempt what the configuration hides of its job. It is nil, which takes out nothing,
// where no text is to be expected or nothing is hidden.
func (l *lane) mask(job outbox.Job, v verdict) *redact.Mask {
	rules := l.node.cfg.Redact
	if rules.Empty() {
		return nil
	}
	m := rules.Mask()
	m.Add("payload", job.Payload)
	m.Add("result", v.result)
	return m
}

// maskOf is the same of a schedule whose tick can't be started: the database may repeat what it refuses.
func (n *Node) maskOf(row schedule.Row) *redact.Mask {
	m := n.cfg.Redact.Mask()
	m.Add("payload", row.Spec.Payload)
	m.Add("params", row.Spec.Payload)
	return m
}

// masked is an error without what a mask hides.
type masked struct {
	error

	mask *redact.Mask
}

func (e masked) Error() string { return e.mask.Text(e.error.Error()) }

func (e masked) Unwrap() error { return e.error }
