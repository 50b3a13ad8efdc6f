package client

import (
	"context"
	"net/url"
	"strconv"

	"sp00ky.cloud/spky/admin"
)

// Schedules is [admin.Schedules] at the other end.
type Schedules struct{ c *Client }

// Schedules are what is started by the clock.
func (c *Client) Schedules() *Schedules { return &Schedules{c} }

const schedulesPath = "/schedules"

// List is [admin.Schedules.List].
func (s *Schedules) List(ctx context.Context) ([]admin.Schedule, error) {
	answer, err := get[struct {
		Schedules []admin.Schedule `json:"schedules"`
	}](ctx, s.c, schedulesPath, nil)
	return answer.Schedules, err
}

// A detailed schedule is what the API tells of one.
type detailedSchedule struct {
	admin.Schedule

	Runs []admin.ScheduleRun `json:"runs"`
	Keys []admin.ScheduleKey `json:"keys"`
}

func (s *Schedules) detailed(ctx context.Context, name string, runs int) (detailedSchedule, error) {
	if name == "" {
		return detailedSchedule{}, admin.NewInputError("the name of the schedule is empty")
	}
	query := url.Values{}
	if runs != 0 {
		query.Set("runs", strconv.Itoa(runs))
	}
	return get[detailedSchedule](ctx, s.c, schedulesPath+path(name), query)
}

// Get is [admin.Schedules.Get].
func (s *Schedules) Get(ctx context.Context, name string) (admin.Schedule, error) {
	one, err := s.detailed(ctx, name, 1)
	return one.Schedule, err
}

// Runs is [admin.Schedules.Runs]; the schedule has to exist.
func (s *Schedules) Runs(ctx context.Context, name string, limit int) ([]admin.ScheduleRun, error) {
	one, err := s.detailed(ctx, name, limit)
	return one.Runs, err
}

// Keys is [admin.Schedules.Keys]; the schedule has to exist.
func (s *Schedules) Keys(ctx context.Context, name string) ([]admin.ScheduleKey, error) {
	one, err := s.detailed(ctx, name, 1)
	return one.Keys, err
}

// Pause is [admin.Schedules.Pause].
func (s *Schedules) Pause(ctx context.Context, name string) (string, error) {
	return s.act(ctx, name, "pause")
}

// Resume is [admin.Schedules.Resume].
func (s *Schedules) Resume(ctx context.Context, name string) (string, error) {
	return s.act(ctx, name, "resume")
}

func (s *Schedules) act(ctx context.Context, name, verb string) (string, error) {
	if name == "" {
		return "", admin.NewInputError("the name of the schedule is empty")
	}
	answer, err := post[struct {
		Was string `json:"was"`
	}](ctx, s.c, schedulesPath+path(name, verb), nil)
	return answer.Was, err
}

// Trigger is [admin.Schedules.Trigger].
func (s *Schedules) Trigger(ctx context.Context, name string) (admin.Triggered, error) {
	if name == "" {
		return admin.Triggered{}, admin.NewInputError("the name of the schedule is empty")
	}
	return post[admin.Triggered](ctx, s.c, schedulesPath+path(name, "trigger"), nil)
}

// Release is [admin.Schedules.Release].
func (s *Schedules) Release(ctx context.Context, name, key string) ([]string, error) {
	if name == "" {
		return nil, admin.NewInputError("the name of the schedule is empty")
	}
	answer, err := post[struct {
		Keys []string `json:"keys"`
	}](ctx, s.c, schedulesPath+path(name, "release"), struct {
		Key string `json:"key,omitempty"`
	}{key})
	return answer.Keys, err
}
