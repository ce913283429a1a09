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

// Place is where a request was served.
type Place struct{ Route, Target, Instance string }

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

// String returns the result as the metric's label has it.
func (r AttemptResult) String() string { return attemptResults[r] }

// cell returns the series of a place.
func (m *Metrics) cell(p Place) *cell {
	m.mu.RLock()
	c := m.cells[p]
	m.mu.RUnlock()
	if c != nil {
		return c
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if c = m.cells[p]; c == nil {
		c = &cell{}
		if p.Target != "" {
			m.fill(c, p)
		}
		m.cells[p] = c
	}
	return c
}

// fill makes the series that a place has where somebody serves.
func (m *Metrics) fill(c *cell, p Place) {
	c.duration = m.duration.WithLabelValues(p.Route, p.Target)
	c.first = m.first.WithLabelValues(p.Route, p.Target)
	c.perToken = m.perToken.WithLabelValues(p.Route, p.Target)
	for i, name := range attemptResults {
		c.attempts[i] = m.attempts.WithLabelValues(p.Route, p.Target, p.Instance, name)
	}
}

// Attempt counts an attempt that has ended.
func (m *Metrics) Attempt(route, target, instance string, r AttemptResult) {
	m.cell(Place{route, target, instance}).attempts[r].Inc()
}

// Request counts a request that has ended.
func (m *Metrics) Request(r *Request) {
	p := Place{r.Route, r.Target, r.Instance}
	c := m.cell(p)
	c.request(m, p, r).Inc()
	if p.Target == "" {
		return
	}
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
func (c *cell) request(m *Metrics, p Place, r *Request) prometheus.Counter {
	slot := 0
	if r.Status >= 100 && r.Status <= 599 {
		slot = r.Status / 100
	}
	at := &c.requests[r.Outcome][slot]
	if known := at.Load(); known != nil {
		return *known
	}
	counter := m.requests.WithLabelValues(p.Route, p.Target, p.Instance, class(r.Status), r.OutcomeName)
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
			m.know(m.users, r.User)
			m.tokens.WithLabelValues(r.Route, r.Target, r.User, t.kind).Add(float64(t.n))
		}
	}
}

// know remembers a name for which something is counted. Names is one of the maps of m.
func (m *Metrics) know(names map[string]bool, name string) {
	if name == "" {
		return
	}
	m.mu.RLock()
	known := names[name]
	m.mu.RUnlock()
	if !known {
		m.mu.Lock()
		names[name] = true
		m.mu.Unlock()
	}
}
