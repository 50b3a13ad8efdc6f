package api

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics are the server's own.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	failures prometheus.Counter
	streams  prometheus.Gauge
}

func newMetrics() *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "spky_admin_requests_total", Help: "Requests to the admin API, by operation and status."},
			[]string{"operation", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "spky_admin_request_seconds", Help: "Time that answers of the admin API took, without streams.",
			Buckets: []float64{.002, .008, .032, .128, .512, 2, 8, 32},
		}, []string{"operation"}),
		failures: prometheus.NewCounter(prometheus.CounterOpts{Name: "spky_admin_sign_in_failures_total", Help: "Requests with a token that is not valid."}),
		streams:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "spky_admin_streams", Help: "Streams that are open."}),
	}
	m.registry.MustRegister(m.requests, m.seconds, m.failures, m.streams)
	return m
}

func (m *metrics) served(operation string, status int, took time.Duration, streamed bool) {
	m.requests.WithLabelValues(operation, strconv.Itoa(status)).Inc()
	if !streamed {
		m.seconds.WithLabelValues(operation).Observe(took.Seconds())
	}
}

// handler shows them, and others beside.
func (m *metrics) handler(others prometheus.Gatherer) http.Handler {
	all := prometheus.Gatherers{m.registry}
	if others != nil {
		all = append(all, others)
	}
	return promhttp.HandlerFor(all, promhttp.HandlerOpts{})
}
