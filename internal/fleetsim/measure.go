package fleetsim

import (
	"math"
	"slices"
)

// measure is what a run writes down.
type measure struct {
	from, until float64 // requests that arrive in this time count
	waits       []float32
	known       int // tokens of prompts that some engine has seen before
	cached      int // of them, those in the cache of the engine that was chosen
	ended       uint64
	samples     int
	uneven      float64 // sum over the samples of standard deviation / mean of the requests at each engine
	busiest     float64 // the same of the highest / mean
}

// over reports whether clients are to stop.
func (m *measure) over(now float64) bool { return now >= m.until }

// count counts a request when its first token comes.
func (m *measure) count(r *request, now float64) {
	if r.arrived < m.from || r.arrived >= m.until {
		return
	}
	m.waits = append(m.waits, float32(now-r.arrived))
	m.known += r.prompt.known
	m.cached += min(r.cached, r.prompt.known)
}

// sampler looks at all engines once a second.
type sampler struct {
	appointment
	run *run
}

func (s *sampler) at() *appointment { return &s.appointment }

func (s *sampler) act(now float64) {
	if s.run.over(now) {
		return
	}
	s.run.sample()
	s.run.calendar.set(s, now+1)
}

// sample adds how uneven the load is at this moment. A fleet without any load is no evidence.
func (r *run) sample() {
	var sum, squares, most float64
	for _, e := range r.engines {
		n := float64(e.inflight)
		sum += n
		squares += n * n
		most = max(most, n)
	}
	if sum == 0 {
		return
	}
	n := float64(len(r.engines))
	mean := sum / n
	r.samples++
	r.uneven += math.Sqrt(max(0, squares/n-mean*mean)) / mean
	r.busiest += most / mean
}

// Result is what came out of one run.
type Result struct {
	Point
	Requests  int     // measured
	Rate      float64 // of them, a second
	Median    float64 // time to first token, in seconds
	P99       float64 // the same, 99th percentile
	Hits      float64 // part of the prompt tokens seen before that the chosen engine still had, 0 to 1; NaN if there were none
	Imbalance float64 // of the requests at each instance: standard deviation / mean, averaged over time; NaN without load
	Busiest   float64 // the same: highest / mean
	Events    uint64  // that were simulated
}

// result sums a run up.
func (r *run) result(p Point) Result {
	slices.Sort(r.waits)
	samples := float64(r.samples)
	return Result{Point: p, Requests: len(r.waits), Rate: float64(len(r.waits)) / (r.until - r.from),
		Median: quantile(r.waits, 0.5), P99: quantile(r.waits, 0.99), Hits: float64(r.cached) / float64(r.known),
		Imbalance: r.uneven / samples, Busiest: r.busiest / samples, Events: r.events}
}

// quantile returns the value that a part q of the sorted ones does not exceed, NaN of none.
func quantile(sorted []float32, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return float64(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}
