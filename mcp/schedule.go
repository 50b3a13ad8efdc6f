package mcp

import (
	"context"

	"sp00ky.cloud/spky/admin"
)

// maxKeys is how many keys of a schedule an answer shows.
const maxKeys = 50

type scheduleIn struct {
	Name  string `json:"name" jsonschema:"the schedule's name, as schedules_list has it"`
	Limit int    `json:"limit,omitempty" jsonschema:"how many of the newest runs to show; 20 if it is left out"`
}

type scheduleOut struct {
	admin.Schedule

	Runs []admin.ScheduleRun `json:"runs" jsonschema:"the newest first"`
	Keys []admin.ScheduleKey `json:"keys" jsonschema:"keys of forEach whose runs failed lately; quarantined_at where nothing is started for them any more"`
}

type releaseIn struct {
	Name string `json:"name" jsonschema:"the schedule's name, as schedules_list has it"`
	Key  string `json:"key,omitempty" jsonschema:"the key in quarantine; all of them if it is left out"`
}

type releaseOut struct {
	Released []string `json:"released" jsonschema:"the keys that were in quarantine, the first hundred"`
	Total    int      `json:"total"`
}

// offerScheduleDetails adds the tools on one schedule that take or answer with more than its name.
func (s *Server) offerScheduleDetails() {
	offer(s, tool[scheduleIn, scheduleOut]{
		name: "schedule_get", title: "Get a schedule", call: s.getSchedule,
		when: "Shows a schedule with its newest runs, why some were skipped or failed, and the keys that are in quarantine.",
		narrow: func(p properties) {
			p.longest("name", 200)
			p.limit(20, 100)
		},
	})
	offer(s, tool[releaseIn, releaseOut]{
		name: "schedule_release", title: "Release keys of a schedule", effect: changes,
		when: "Lets keys of a schedule start again that are in quarantine because their runs kept failing. Use it once the cause is mended.",
		narrow: func(p properties) {
			p.longest("name", 200)
			p.longest("key", 1000)
		},
		call: func(ctx context.Context, in releaseIn) (releaseOut, error) {
			keys, err := s.cfg.Schedules.Release(ctx, in.Name, in.Key)
			return releaseOut{first(keys, 100), len(keys)}, err
		},
	})
}

func (s *Server) getSchedule(ctx context.Context, in scheduleIn) (scheduleOut, error) {
	if in.Limit == 0 {
		in.Limit = 20
	}
	one, err := s.cfg.Schedules.Get(ctx, in.Name)
	if err != nil {
		return scheduleOut{}, err
	}
	runs, err := s.cfg.Schedules.Runs(ctx, in.Name, in.Limit)
	if err != nil {
		return scheduleOut{}, err
	}
	keys, err := s.cfg.Schedules.Keys(ctx, in.Name)
	out := scheduleOut{one, first(runs, in.Limit), first(keys, maxKeys)}
	shortenSchedule(&out.Schedule)
	for i := range out.Runs {
		shortenRun(&out.Runs[i])
	}
	for i := range out.Keys {
		out.Keys[i].Key = cut(out.Keys[i].Key, 100)
	}
	return out, err
}
