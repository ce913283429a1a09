package metrics

import (
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Request is a request that has ended.
type Request struct {
	Route, Target, Instance string // empty if it did not get so far
	User                    string // whose key it came with; empty without one
	Status                  int    // 0 if none was sent
	Outcome                 int    // a small number below Outcomes, and
	OutcomeName             string // its name
	Stream                  bool
	Fallback                bool
	Policy                  bool          // the route is a policy route and somebody was picked
	DecidedBy               string        // plugin that decided the last pick, empty if none did
	FirstByte, Total        time.Duration // FirstByte is 0 if no byte came
	Tokens                  Tokens
}

// Tokens are counts as an upstream reports them; 0 is none, or unknown.
type Tokens struct{ Input, Output, Cached, Reasoning int64 }

// Outcomes is one more than the largest outcome.
const Outcomes = 8

// place is where a request was served.
type place struct{ route, target, instance string }

// cell holds the series of a place, so that a request does not look each of them up by its labels.
type cell struct {
	requests [Outcomes][6]atomic.Pointer[prometheus.Counter]
	attempts [len(attemptResults)]prometheus.Counter
	duration prometheus.Observer
	first    prometheus.Observer
	perToken prometheus.Observer
}

// AttemptResult is how an attempt ended.
type AttemptResult uint8

// The results of attempts.
const (
	Answered    AttemptResult = iota // an answer that stands
	PutAside                         // an answer for which somebody else was asked
	Unreachable                      // no connection
	Broken                           // a connection that broke before its answer stood
	TimedOut                         // no answer in time
	Abandoned                        // the client left
)

var attemptResults = [...]string{"answered", "put_aside", "unreachable", "broken", "timeout", "abandoned"}

// cell returns the series of a place.
func (m *Metrics) cell(p place) *cell {
	m.mu.RLock()
	c := m.cells[p]
	m.mu.RUnlock()
	if c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.cells[p]; c == nil {
		c = &cell{
			duration: m.duration.WithLabelValues(p.route, p.target),
			first:    m.first.WithLabelValues(p.route, p.target),
			perToken: m.perToken.WithLabelValues(p.route, p.target),
		}
		for i, name := range attemptResults {
			c.attempts[i] = m.attempts.WithLabelValues(p.route, p.target, p.instance, name)
		}
		m.cells[p] = c
	}
	return c
}

// Attempt counts an attempt that has ended.
func (m *Metrics) Attempt(route, target, instance string, r AttemptResult) {
	m.cell(place{route, target, instance}).attempts[r].Inc()
}

// Request counts a request that has ended.
func (m *Metrics) Request(r *Request) {
	p := place{r.Route, r.Target, r.Instance}
	if p.target == "" {
		m.requests.WithLabelValues(r.Route, "", "", class(r.Status), r.OutcomeName).Inc()
		return
	}
	c := m.cell(p)
	c.request(m, p, r).Inc()
	c.duration.Observe(r.Total.Seconds())
	if r.Stream && r.FirstByte > 0 {
		c.first.Observe(r.FirstByte.Seconds())
		if r.Tokens.Output > 1 {
			c.perToken.Observe((r.Total - r.FirstByte).Seconds() / float64(r.Tokens.Output-1))
		}
	}
	if r.Fallback {
		m.fallbacks.WithLabelValues(r.Route, r.Target).Inc()
	}
	if r.Policy {
		by := r.DecidedBy
		if by == "" {
			by = "none"
		}
		m.decided.WithLabelValues(r.Route, by).Inc()
	}
	m.count(r)
}

// request returns the counter of a request's end.
func (c *cell) request(m *Metrics, p place, r *Request) prometheus.Counter {
	slot := 0
	if r.Status >= 100 && r.Status <= 599 {
		slot = r.Status / 100
	}
	at := &c.requests[r.Outcome][slot]
	if known := at.Load(); known != nil {
		return *known
	}
	counter := m.requests.WithLabelValues(p.route, p.target, p.instance, class(r.Status), r.OutcomeName)
	at.Store(&counter)
	return counter
}

// count adds the tokens of a request.
func (m *Metrics) count(r *Request) {
	for _, t := range [...]struct {
		kind string
		n    int64
	}{{"input", r.Tokens.Input}, {"output", r.Tokens.Output}, {"cached", r.Tokens.Cached}, {"reasoning", r.Tokens.Reasoning}} {
		if t.n > 0 {
			m.tokens.WithLabelValues(r.Route, r.Target, r.User, t.kind).Add(float64(t.n))
		}
	}
}
