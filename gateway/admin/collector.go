package admin

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

// Live is what is looked at whenever the metrics are scraped, instead of being counted along.
type Live struct {
	Table    *route.Table
	Fleet    *lb.Fleet
	Active   func() int64           // requests being served
	Clients  func() int             // open client connections
	Circuits func() map[string]bool // whether the circuit of a decision provider is open
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("gpustack_gateway_"+name, help, labels, nil)
}

var (
	activeDesc   = desc("active_requests", "Requests being served.")
	clientsDesc  = desc("client_connections", "Open connections of clients.")
	inflightDesc = desc("inflight_requests", "Requests in flight at an engine.", "engine")
	untilDesc    = desc("engine_ejected_until_timestamp_seconds", "When the ejection of an engine ends; there only while it is ejected.", "engine")
	stateDesc    = desc("engine_state", "1 for the state that an engine is in.", "engine", "state")
	instanceDesc = desc("instance_info", "Always 1; says which engine is behind an instance of a route.", "route", "target", "target_instance", "engine")
	circuitDesc  = desc("decision_circuit_open", "1 while a decision service is left alone because it has failed.", "provider")
	waitingDesc  = desc("waiting_requests", "Requests that wait for a place at a route whose instances are full.", "route")
	usableDesc   = desc("route_usable", "1 if a route can serve, 0 if its configuration can't.", "route", "route_by")
)

// Describe implements prometheus.Collector.
func (l *Live) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{activeDesc, clientsDesc, inflightDesc, untilDesc, stateDesc, instanceDesc, circuitDesc, waitingDesc, usableDesc} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (l *Live) Collect(ch chan<- prometheus.Metric) {
	gauge := func(d *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	gauge(activeDesc, float64(l.Active()))
	gauge(clientsDesc, float64(l.Clients()))
	now := time.Now()
	for _, e := range l.Fleet.Engines() {
		gauge(inflightDesc, float64(e.Inflight()), e.URL())
		health := e.Health(now)
		gauge(stateDesc, 1, e.URL(), health.Status.String())
		if health.Status == lb.Ejected {
			gauge(untilDesc, float64(health.Until.UnixMilli())/1e3, e.URL())
		}
	}
	for _, r := range l.Table.Load().Routes() {
		if r.Reason != "" {
			gauge(usableDesc, 0, r.Name, r.By.String())
			continue
		}
		gauge(usableDesc, 1, r.Name, r.By.String())
		if r.Queue.Line != nil {
			gauge(waitingDesc, float64(r.Queue.Line.Len()), r.Name)
		}
		known := map[uint64]bool{} // a target may be both a candidate and a fallback target
		for _, p := range pools(r) {
			targets := p.Targets()
			for i := range p.Candidates() {
				if c := &p.Candidates()[i]; !known[c.Key] {
					known[c.Key] = true
					gauge(instanceDesc, 1, r.Name, targets[c.Target].Name, c.Instance, c.Engine.URL())
				}
			}
		}
	}
	for provider, open := range l.Circuits() {
		value := 0.0
		if open {
			value = 1
		}
		gauge(circuitDesc, value, provider)
	}
}

// Known returns what a snapshot has, as the metrics name it.
func Known(s *route.Snapshot) metrics.Known {
	return metrics.Known{Places: places(s), Users: s.Users(), Providers: s.Providers()}
}

// places returns where the requests of a snapshot may be served.
func places(s *route.Snapshot) map[metrics.Place]bool {
	places := map[metrics.Place]bool{}
	for _, r := range s.Routes() {
		places[metrics.Place{Route: r.Name}] = true // of what is refused before anybody is chosen
		note := func(ups []route.Upstream) {
			for i := range ups {
				places[metrics.Place{Route: r.Name, Target: ups[i].Target, Instance: ups[i].Instance}] = true
			}
		}
		note(r.Upstreams)
		for i := range r.Fallbacks {
			note(r.Fallbacks[i].Upstreams)
		}
	}
	return places
}

// pools returns the pools of a route: of its candidates, and of each fallback target.
func pools(r *route.Route) []*lb.Pool {
	all := []*lb.Pool{r.Pool}
	for i := range r.Fallbacks {
		all = append(all, r.Fallbacks[i].Pool)
	}
	return all
}
