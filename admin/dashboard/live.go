package dashboard

import "sp00ky.cloud/spky/admin/api"

// live tells a page when to look again.
func (d *Dashboard) live(v *visit) error {
	topic := api.Topic{Of: v.id("of"), Key: v.r.URL.Query().Get("key")}
	switch topic.Of {
	case api.TopicOverview:
		topic.Before, topic.More = d.resample, d.history.news
	case api.TopicJobs, api.TopicInstances: // their tabs have counts
		topic.More = d.history.news
	}
	return d.cfg.API.Hints(v.w, v.r, topic)
}
