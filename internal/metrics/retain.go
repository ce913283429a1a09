package metrics

import "github.com/prometheus/client_golang/prometheus"

// Known is what the configuration has that series are made of.
type Known struct {
	Places    map[Place]bool // where requests may be served
	Users     map[string]bool
	Providers map[string]bool
}

// Retain drops the series of what the configuration no longer has. Were they kept, a configuration that changes names now
// and then would make series for ever.
func (m *Metrics) Retain(known Known) {
	places := known.Places
	routes, targets, instances := map[string]bool{"": true}, map[Place]bool{}, map[Place]bool{}
	for p := range places {
		routes[p.Route] = true
		targets[Place{Route: p.Route, Target: p.Target}] = true
		instances[Place{Target: p.Target, Instance: p.Instance}] = true
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.cells {
		if places[p] || p == (Place{}) {
			continue
		}
		delete(m.cells, p)
		drop(prometheus.Labels{"route": p.Route, "target": p.Target, "target_instance": p.Instance}, m.requests, m.attempts)
		if !instances[Place{Target: p.Target, Instance: p.Instance}] {
			drop(prometheus.Labels{"target": p.Target, "target_instance": p.Instance}, m.ejections)
		}
		if !targets[Place{Route: p.Route, Target: p.Target}] {
			drop(prometheus.Labels{"route": p.Route, "target": p.Target}, m.duration, m.first, m.perToken, m.tokens, m.fallbacks)
		}
		if !routes[p.Route] {
			drop(prometheus.Labels{"route": p.Route}, m.requests, m.decided, m.waits, m.moves)
		}
	}
	for user := range m.users {
		if !known.Users[user] {
			delete(m.users, user)
			drop(prometheus.Labels{"user": user}, m.tokens)
		}
	}
	for provider := range m.providers {
		if !known.Providers[provider] {
			delete(m.providers, provider)
			drop(prometheus.Labels{"provider": provider}, m.decisions, m.decisionTime)
		}
	}
}

// drop deletes the series with all of the labels.
func drop(labels prometheus.Labels, of ...interface {
	DeletePartialMatch(labels prometheus.Labels) int
}) {
	for _, v := range of {
		v.DeletePartialMatch(labels)
	}
}
