package api

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"sp00ky.cloud/spky/admin"
)

// What a page can be about.
const (
	TopicOverview  = "overview"
	TopicInstance  = "instance"
	TopicInstances = "instances"
	TopicJob       = "job"
	TopicJobs      = "jobs"
	TopicSchedules = "schedules"
	TopicDAGs      = "dags"
	TopicRun       = "run"
	TopicNodes     = "nodes"
	TopicAudit     = "audit"
)

// A Topic is what a page shows.
type Topic struct {
	// Of is one of the constants.
	Of string
	// Key is the id of an instance, a job or a run, or the table of a list of jobs, "" for all of them.
	Key string
	// Before is called before each hint, and makes what the page is going to show. Defaults to nothing.
	Before func(context.Context)
	// More answers with a channel that is closed when something has changed which no table tells. Defaults to nothing.
	More func() <-chan struct{}
}

// Times of hints.
const (
	// hintGap is the least time between two hints at one thing, tableGap and nodesGap those at tables: what changes a
	// thousand times a second is read a few times. Nodes tell of themselves every two seconds.
	hintGap  = 250 * time.Millisecond
	tableGap = time.Second
	nodesGap = 2 * time.Second
	// restGap is the same for something that has ended, and may begin anew.
	restGap = 5 * time.Second
)

// Hints sends a page server-sent events named changed whenever it should look again: at once, and after each change of
// its topic, at most once a second or so. While nothing changes nothing is read. It is one of the server's streams,
// shares its LIVE SELECTs with all others, and ends with the request. A page is told to look, too, when the database
// has gone or come back, and when a token has changed, which may be that of whoever looks.
func (s *Server) Hints(w http.ResponseWriter, r *http.Request, topic Topic) error {
	out, free, err := s.open(w)
	if err != nil {
		return err
	}
	defer free()
	err = s.hints(r.Context(), out, topic)
	if err == nil || r.Context().Err() != nil || s.life.Err() != nil || out.begun {
		return nil // the page asks again, and is told what is wrong by what it shows
	}
	return err
}

func (s *Server) hints(ctx context.Context, out *stream, topic Topic) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	tables, err := s.tablesOf(topic)
	if err != nil {
		return err
	}
	if topic.Before != nil {
		topic.Before(ctx)
	}
	if err := out.write("retry: 1000\nevent: changed\ndata: {}\n\n"); err != nil { // something may have, before it listened
		return err
	}
	// What every page is told of: tokens, one of which may have been revoked, and that the database has gone or come back.
	signs := earOf(s.tables.join(admin.TableTokens), nil)
	defer signs.leave()
	rest := func() ear { return earOf(s.tables.join(tables...), topic.about) }
	switch topic.Of {
	case TopicInstance:
		return s.follows(ctx, out, signs, func() ear { return earOf(s.instances.join(topic.Key), nil) }, rest, func() (string, bool, error) {
			i, err := s.cfg.Durable.Get(ctx, topic.Key)
			return fmt.Sprint(i.Incarnation, i.Status, i.UpdatedAt), i.Live(), err
		})
	case TopicJob:
		return s.follows(ctx, out, signs, func() ear { return earOf(s.jobs.join(topic.Key), nil) }, rest, func() (string, bool, error) {
			job, err := s.cfg.Jobs.Get(ctx, topic.Key)
			return fmt.Sprint(job.Status, job.Retries, job.UpdatedAt), !job.Status.Terminal(), err
		})
	}
	h := hinting{out: out, topic: topic, gap: tableGap}
	if topic.Of == TopicOverview || topic.Of == TopicNodes {
		h.gap = nodesGap
	}
	return h.run(ctx, earOf(s.tables.join(tables...), topic.about), signs)
}

// tablesOf are the tables of which a topic is made.
func (s *Server) tablesOf(topic Topic) ([]string, error) {
	switch topic.Of {
	case TopicOverview:
		return append(s.cfg.Jobs.Tables(), admin.TableInstances, admin.TableNodes), nil
	case TopicInstance, TopicInstances:
		return []string{admin.TableInstances}, nil
	case TopicJob:
		id, err := s.cfg.Jobs.ID(topic.Key)
		return []string{id.Table}, err
	case TopicJobs:
		tables := s.cfg.Jobs.Tables()
		switch {
		case topic.Key == "":
			return tables, nil
		case !slices.Contains(tables, topic.Key):
			return nil, admin.NewInputError("there is no outbox table " + short(topic.Key))
		}
		return []string{topic.Key}, nil
	case TopicSchedules:
		return []string{admin.TableSchedules, admin.TableScheduleRuns, admin.TableScheduleKeys}, nil
	case TopicDAGs:
		return []string{admin.TableSchedules, admin.TableRuns}, nil
	case TopicRun:
		return []string{admin.TableRuns, admin.TableStepRuns}, nil
	case TopicNodes:
		return []string{admin.TableNodes}, nil
	case TopicAudit:
		return []string{admin.TableAudit}, nil
	}
	return nil, admin.NewInputError("there is no topic " + short(topic.Of))
}

// about says whether a change may be one of what the page shows.
func (t Topic) about(c admin.TableChange) bool {
	switch t.Of {
	case TopicRun, TopicInstance:
		return c.Key == "" || c.Key == t.Key
	case TopicJob: // table:id, or the id alone, in whatever spelling
		return c.Key == "" || strings.Contains(t.Key, c.Key) || strings.ContainsAny(t.Key, "`⟨\\")
	}
	return true
}

// follows hints at the changes of one thing, which watch hears, until it has ended; and again once it is not as it was
// then, when rest hears of its row: somebody may begin it anew. state says how it is, and whether it moves.
func (s *Server) follows(ctx context.Context, out *stream, signs ear, watch, rest func() ear, state func() (string, bool, error)) error {
	found := func() (string, bool, error) {
		now, moves, err := state()
		if errors.Is(err, admin.ErrNotFound) {
			return "", false, nil
		}
		return now, moves, err
	}
	for {
		moving := hinting{out: out, gap: hintGap}
		err := moving.run(ctx, watch(), signs)
		if errors.Is(err, admin.ErrNotFound) {
			err = out.hint(true)
		}
		if err != nil {
			return err
		}
		ended, moves, err := found()
		if err != nil {
			return err
		}
		if moves {
			continue // again, by now
		}
		resting := hinting{out: out, gap: restGap, until: func() (bool, error) {
			now, _, err := found()
			return err == nil && now != ended, err
		}}
		if err := resting.run(ctx, rest(), signs); err != nil {
			return err
		}
	}
}
