package api

import (
	"context"
	"net/http"

	"sp00ky.cloud/spky/admin"
)

type schedules struct {
	Schedules []admin.Schedule `json:"schedules" jsonschema:"by name"`
}

// Schedule is a schedule with its newest runs, and the keys that have failed lately.
type Schedule struct {
	admin.Schedule

	Runs []admin.ScheduleRun `json:"runs" jsonschema:"the newest first"`
	Keys []admin.ScheduleKey `json:"keys" jsonschema:"keys whose runs have failed lately, where quarantineAfter counts them"`
}

type release struct {
	Key *string `json:"key,omitempty" jsonschema:"the key of a row of forEach; all keys where it is left out"`
}

type released struct {
	Keys []string `json:"keys" jsonschema:"the keys that were in quarantine"`
}

// scheduleRoutes are about what is started by the clock.
func (s *Server) scheduleRoutes() []route {
	d := s.cfg.Schedules
	return []route{
		{
			method: http.MethodGet, path: "/schedules", name: "listSchedules", tag: "schedules", scope: scopeRead,
			says:   "The schedules that nodes have written into the database, with the next tick and the newest run of each.",
			answer: schedules{}, serve: func(c *call) (any, error) {
				all, err := d.List(c.r.Context())
				return schedules{all}, err
			},
		},
		{
			method: http.MethodGet, path: "/schedules/{name}", name: "getSchedule", tag: "schedules", scope: scopeRead,
			says: "A schedule, its newest runs, and the keys that have failed lately.", query: []param{number("runs", "How many runs at most; 50 by default.", 1, 200)},
			answer: Schedule{}, refuses: []int{http.StatusNotFound}, serve: func(c *call) (any, error) { return s.schedule(c) },
		},
		s.scheduleVerb("pause", "pauseSchedule", "Lets nothing more start; what runs goes on.", d.Pause),
		s.scheduleVerb("resume", "resumeSchedule", "Goes on with the next tick from now on; what fell into the pause is not made up for.", d.Resume),
		{
			method: http.MethodPost, path: "/schedules/{name}/trigger", name: "triggerSchedule", tag: "schedules", scope: scopeFull,
			says:   "Starts what the schedule is for now, also while it is paused or disabled. Its ticks stay as they are.",
			answer: admin.Triggered{}, refuses: []int{http.StatusNotFound, http.StatusConflict},
			serve: func(c *call) (any, error) { return d.Trigger(c.r.Context(), c.id("name")) },
		},
		{
			method: http.MethodPost, path: "/schedules/{name}/release", name: "releaseSchedule", tag: "schedules", scope: scopeFull,
			says: "Lets keys start again that are in quarantine.", body: release{},
			answer: released{}, refuses: []int{http.StatusNotFound, http.StatusConflict}, serve: func(c *call) (any, error) {
				key, err := named("key", body[release](c).Key)
				if err != nil {
					return nil, err
				}
				keys, err := d.Release(c.r.Context(), c.id("name"), key)
				return released{keys}, err
			},
		},
	}
}

func (s *Server) scheduleVerb(path, name, says string, do func(context.Context, string) (string, error)) route {
	return route{
		method: http.MethodPost, path: "/schedules/{name}/" + path, name: name, tag: "schedules", scope: scopeFull, says: says,
		answer: Acted{}, refuses: []int{http.StatusNotFound, http.StatusConflict}, serve: func(c *call) (any, error) {
			was, err := do(c.r.Context(), c.id("name"))
			return Acted{c.id("name"), was}, err
		},
	}
}

func (s *Server) schedule(c *call) (Schedule, error) {
	ctx, name := c.r.Context(), c.id("name")
	one, err := s.cfg.Schedules.Get(ctx, name)
	if err != nil {
		return Schedule{}, err
	}
	runs, err := s.cfg.Schedules.Runs(ctx, name, c.number("runs"))
	if err != nil {
		return Schedule{}, err
	}
	keys, err := s.cfg.Schedules.Keys(ctx, name)
	return Schedule{one, runs, keys}, err
}
