package dashboard

import (
	"context"
	"strconv"

	"sp00ky.cloud/spky/admin"
	"sp00ky.cloud/spky/wf"
)

// restart begins an instance again: from its beginning, or from the step that the form names. from says which in words.
func (d *Dashboard) restart(v *visit) (again func(context.Context, string) (wf.Status, error), from string) {
	form := v.r.Form
	if !form.Has("name") && !form.Has("count") && !form.Has("type") {
		return d.cfg.Durable.Restart, "its first step"
	}
	again = func(ctx context.Context, id string) (wf.Status, error) {
		count, err := strconv.Atoi(form.Get("count"))
		if err != nil || count < 1 {
			return "", admin.NewInputError("restart from: count: steps are counted from 1")
		}
		return d.cfg.Durable.RestartFrom(ctx, id, admin.StepRef{Name: form.Get("name"), Count: count, Type: form.Get("type")})
	}
	return again, "step " + cut(100, admin.StepRef{Name: form.Get("name"), Count: number(form.Get("count"))}.String())
}
