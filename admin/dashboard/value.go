package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"

	"sp00ky.cloud/spky/admin"
)

// instanceValue answers with a whole value of an instance, as text: its params or output, or what a step came to.
func (d *Dashboard) instanceValue(v *visit) error {
	if v.text("of") == "step" {
		_, s, err := d.oneStep(v)
		if err != nil {
			return err
		}
		return plain(v, s.Output)
	}
	i, err := d.cfg.Durable.Get(v.ctx(), v.id("id"))
	if err != nil {
		return err
	}
	switch v.text("of") {
	case "params":
		return plain(v, i.Params)
	case "output":
		return plain(v, i.Output)
	}
	return admin.NewInputError("of what value? allowed: params, output, step")
}

// jobValue answers with a whole value of a job.
func (d *Dashboard) jobValue(v *visit) error {
	job, err := d.cfg.Jobs.Get(v.ctx(), v.id("id"))
	if err != nil {
		return err
	}
	switch v.text("of") {
	case "payload":
		return plain(v, job.Payload)
	case "result":
		return plain(v, job.Result)
	}
	return admin.NewInputError("of what value? allowed: payload, result")
}

// plain shows JSON as text, which a browser does nothing with but show it.
func plain(v *visit, raw json.RawMessage) error {
	var out bytes.Buffer
	if len(raw) == 0 || json.Indent(&out, raw, "", "  ") != nil {
		out.Reset()
		out.Write(raw)
	}
	v.w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	v.w.Header().Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	v.w.WriteHeader(http.StatusOK)
	_, _ = v.w.Write(out.Bytes()) // the client may have gone
	return nil
}
