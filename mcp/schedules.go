package mcp

import (
	"context"
	"fmt"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
)

// maxSchedules is how many of them an answer shows.
const maxSchedules = 100

// Schedules are what is started by the clock; [admin.Schedules] has them.
type Schedules interface {
	List(ctx context.Context) ([]admin.Schedule, error)
	Get(ctx context.Context, name string) (admin.Schedule, error)
	Runs(ctx context.Context, name string, limit int) ([]admin.ScheduleRun, error)
	Keys(ctx context.Context, name string) ([]admin.ScheduleKey, error)
	Pause(ctx context.Context, name string) (string, error)
	Resume(ctx context.Context, name string) (string, error)
	Trigger(ctx context.Context, name string) (admin.Triggered, error)
	Release(ctx context.Context, name, key string) ([]string, error)
}

type schedulesOut struct {
	Total     int              `json:"total"`
	Schedules []admin.Schedule `json:"schedules"`
}

type oneScheduleIn struct {
	Name string `json:"name" jsonschema:"the schedule's name, as schedules_list has it"`
}

// offerSchedules adds the tools on schedules.
func (s *Server) offerSchedules() {
	offer(s, tool[nothing, schedulesOut]{
		name: "schedules_list", title: "List schedules",
		when: "Lists what is started by the clock: when each is due next, what its newest run came to, and whether it is paused, disabled, late or in trouble. " +
			"Use it when something that should happen again and again does not.",
		call: s.listSchedules,
		text: schedulesText,
	})
	s.offerScheduleDetails()
	narrow := func(p properties) { p.longest("name", 200) }
	offer(s, tool[oneScheduleIn, admin.Triggered]{
		name: "schedule_trigger", title: "Trigger a schedule", effect: changes, narrow: narrow,
		when: "Starts what a schedule is for now, also while it is paused or disabled; its ticks stay as they are. Two calls start it twice.",
		call: func(ctx context.Context, in oneScheduleIn) (admin.Triggered, error) {
			return s.cfg.Schedules.Trigger(ctx, in.Name)
		},
	})
	offerActions(s, []action{
		{
			name: "schedule_pause", title: "Pause a schedule", effect: changes, again: true, do: s.cfg.Schedules.Pause,
			when: "Lets a schedule start nothing more until schedule_resume; what runs goes on.",
			next: "no tick starts anything",
		},
		{
			name: "schedule_resume", title: "Resume a schedule", effect: changes, again: true, do: s.cfg.Schedules.Resume,
			when: "Goes on with a paused schedule. What fell into the pause is not made up for; schedule_trigger does that.",
			next: "it goes on with the next tick from now on",
		},
	}, func(in oneScheduleIn) string { return in.Name }, narrow)
}

func (s *Server) listSchedules(ctx context.Context, _ nothing) (schedulesOut, error) {
	all, err := s.cfg.Schedules.List(ctx)
	out := schedulesOut{Total: len(all), Schedules: first(all, maxSchedules)}
	for i := range out.Schedules {
		shortenSchedule(&out.Schedules[i])
	}
	return out, err
}

// shortenSchedule cuts what may be long.
func shortenSchedule(s *admin.Schedule) {
	s.Trouble, s.ForEach = cut(s.Trouble, 200), cut(s.ForEach, 200)
	if s.LastRun != nil {
		shortenRun(s.LastRun)
	}
}

func shortenRun(r *admin.ScheduleRun) {
	r.Key, r.Reason, r.Job = cut(r.Key, 100), cut(r.Reason, 100), cut(r.Job, 150)
}

func schedulesText(o schedulesOut) string {
	var rows [][]string
	for _, one := range o.Schedules {
		state := one.State
		if one.Late {
			state += ", late"
		}
		last := "-"
		if one.LastRun != nil {
			last = one.LastRun.Status
		}
		rows = append(rows, []string{one.Name, state, when(one), whenAt(nextTick(one)), last, one.Trouble})
	}
	return table([]string{"schedule", "state", "when", "next_at", "last_run", "trouble"}, rows, "")
}

// when says in a word when a schedule is due.
func when(s admin.Schedule) string {
	if s.Cron != "" {
		return strings.TrimSpace(s.Cron + " " + s.Timezone)
	}
	return fmt.Sprint("every ", time.Duration(s.EveryMS)*time.Millisecond)
}

// nextTick is nil where none comes; what stands there while it is paused starts nothing.
func nextTick(s admin.Schedule) *time.Time {
	if s.State == admin.SchedulePaused {
		return nil
	}
	return s.NextAt
}

func whenAt(at *time.Time) string {
	if at == nil {
		return "-"
	}
	return seconds(*at)
}
