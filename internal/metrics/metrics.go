// Package metrics counts what the gateway does, for Prometheus. Every label's value comes from the configuration or from
// a short list written here, never from a client, so the number of series is bounded by the configuration. The series of
// routes that are gone go with them. docs/metrics.md lists all of them.
package metrics

import (
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const namespace = "gpustack_gateway"

// Buckets in seconds. They begin as the OpenTelemetry GenAI conventions advise and go on to what long answers take.
var (
	durations      = []float64{.01, .02, .04, .08, .16, .32, .64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92, 163.84, 327.68, 655.36, 1310.72}
	firstTokens    = []float64{.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160}
	perOutputToken = []float64{.001, .0025, .005, .01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5}
	calls          = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
)

// Metrics are the counters of one process. Safe for any number of goroutines.
type Metrics struct {
	registry *prometheus.Registry

	requests  *prometheus.CounterVec
	duration  *prometheus.HistogramVec
	first     *prometheus.HistogramVec
	perToken  *prometheus.HistogramVec
	tokens    *prometheus.CounterVec
	attempts  *prometheus.CounterVec
	fallbacks *prometheus.CounterVec
	ejections *prometheus.CounterVec
	decided   *prometheus.CounterVec
	waits     *prometheus.HistogramVec
	moves     *prometheus.CounterVec

	decisions    *prometheus.CounterVec
	decisionTime *prometheus.HistogramVec

	generation prometheus.Gauge
	reloads    *prometheus.CounterVec
	reloaded   prometheus.Gauge
	reloadGood prometheus.Gauge

	mu        sync.RWMutex
	users     map[string]bool // whose tokens were counted
	providers map[string]bool // who were asked for decisions
	cells     map[Place]*cell
}

// New returns metrics that have counted nothing yet.
func New(version string) *Metrics {
	m := &Metrics{registry: prometheus.NewRegistry(), cells: map[Place]*cell{}, users: map[string]bool{}, providers: map[string]bool{}}
	m.requests = m.counter("requests_total", "Requests that ended, by how.", "route", "target", "target_instance", "status_class", "outcome")
	m.duration = m.histogram("gen_ai_server_request_duration_seconds", "From a request's arrival to the end of its answer.", durations, "route", "target")
	m.first = m.histogram("gen_ai_server_time_to_first_token_seconds", "From a request's arrival to the first byte of its streamed answer's body.", firstTokens, "route", "target")
	m.perToken = m.histogram("gen_ai_server_time_per_output_token_seconds", "Time of a streamed answer after its first byte, divided by the tokens in it but one.", perOutputToken, "route", "target")
	m.tokens = m.counter("tokens_total", "Tokens, as upstreams report them.", "route", "target", "user", "type")
	m.attempts = m.counter("attempts_total", "Attempts to have a request answered by an upstream.", "route", "target", "target_instance", "result")
	m.fallbacks = m.counter("fallbacks_total", "Requests that a fallback target answered.", "route", "target")
	m.ejections = m.counter("ejections_total", "Times that an instance was ejected for failures in a row.", "target", "target_instance")
	m.decided = m.counter("policy_decisions_total", "Picks of policy routes, by the plugin that decided; \"none\" for ties and where all abstained.", "route", "plugin")
	m.waits = m.histogramNamed("queue_wait_seconds", "How long requests waited for a place.", calls, "route", "result")
	m.moves = m.counter("session_moves_total", "Times that a session went elsewhere than to its owner.", "route")
	m.decisions = m.counter("decision_requests_total", "Questions to decision services, by how they ended.", "provider", "result")
	m.decisionTime = m.histogramNamed("decision_duration_seconds", "How long a request waited for a decision service.", calls, "provider")
	m.generation = m.gauge("config_generation", "Number of the configuration that serves; it grows with every change.")
	m.reloads = m.counter("config_reloads_total", "Times that the routes file was read after a change, by result.", "result")
	m.reloaded = m.gauge("config_last_reload_timestamp_seconds", "When the routes file was last read after a change.")
	m.reloadGood = m.gauge("config_last_reload_successful", "1 if the routes file as it is now serves, 0 if it was refused or can't be read.")
	info := prometheus.NewGaugeVec(prometheus.GaugeOpts{Namespace: namespace, Name: "build_info", Help: "Always 1; the label is the version."}, []string{"version"})
	info.WithLabelValues(version).Set(1)
	m.registry.MustRegister(info, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	c := prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: namespace, Name: name, Help: help}, labels)
	m.registry.MustRegister(c)
	return c
}

func (m *Metrics) gauge(name, help string) prometheus.Gauge {
	g := prometheus.NewGauge(prometheus.GaugeOpts{Namespace: namespace, Name: name, Help: help})
	m.registry.MustRegister(g)
	return g
}

func (m *Metrics) histogramNamed(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	return m.histogram(namespace+"_"+name, help, buckets, labels...)
}

func (m *Metrics) histogram(name, help string, buckets []float64, labels ...string) *prometheus.HistogramVec {
	h := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets}, labels)
	m.registry.MustRegister(h)
	return h
}

// Add has a collector asked at every scrape. It panics if one of the same names is there already.
func (m *Metrics) Add(c prometheus.Collector) { m.registry.MustRegister(c) }

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{})
}

// Decision counts a question to a decision service.
func (m *Metrics) Decision(provider, result string, took time.Duration) {
	m.know(m.providers, provider)
	m.decisions.WithLabelValues(provider, result).Inc()
	m.decisionTime.WithLabelValues(provider).Observe(took.Seconds())
}

// ReloadResult is what became of a changed routes file.
type ReloadResult string

// The results of a reload.
const (
	Loaded     ReloadResult = "ok"
	Refused    ReloadResult = "refused"
	Unreadable ReloadResult = "unreadable"
)

// Reload counts that the routes file was read after a change, or could not be.
func (m *Metrics) Reload(generation uint64, result ReloadResult, at time.Time) {
	value := 0.0
	if result == Loaded {
		value = 1
	}
	m.reloads.WithLabelValues(string(result)).Inc()
	m.generation.Set(float64(generation))
	m.reloaded.Set(float64(at.UnixMilli()) / 1e3)
	m.reloadGood.Set(value)
}

// Ejected counts an ejection.
func (m *Metrics) Ejected(target, instance string) {
	m.ejections.WithLabelValues(target, instance).Inc()
}

// Moved counts a session that went elsewhere than to its owner.
func (m *Metrics) Moved(route string) { m.moves.WithLabelValues(route).Inc() }

// Waited counts a request that stood in line for a place; result is "served", "timeout", "full" or "left".
func (m *Metrics) Waited(route, result string, took time.Duration) {
	m.waits.WithLabelValues(route, result).Observe(took.Seconds())
}

// class is the label of a status.
func class(status int) string {
	if status < 100 || status > 599 {
		return "none"
	}
	return strconv.Itoa(status/100) + "xx"
}
