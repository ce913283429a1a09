package fleetsim

import "math"

// measure is what a run writes down.
type measure struct {
	from, until float64 // requests that arrive in this time count
	waits       []float32
	known       int // tokens of prompts that some engine has seen before
	cached      int // of them, those in the cache of the engine that was chosen
	turns       int // that follow another one of their session
	moved       int // of them, those at another instance
	ended       uint64
	looks       int     // at all engines
	inflight    float64 // sum over them of the mean number of requests at an engine
	samples     int     // looks that saw any request
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
	if r.last >= 0 {
		m.turns++
		if r.lease.Index() != r.last {
			m.moved++
		}
	}
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
	n := float64(len(r.engines))
	mean := sum / n
	r.looks++
	r.inflight += mean
	if sum == 0 {
		return
	}
	r.samples++
	r.uneven += math.Sqrt(max(0, squares/n-mean*mean)) / mean
	r.busiest += most / mean
}

// add adds what another run has written down.
func (m *measure) add(o *measure) {
	m.waits = append(m.waits, o.waits...)
	m.known += o.known
	m.cached += o.cached
	m.turns += o.turns
	m.moved += o.moved
	m.ended += o.ended
	m.looks += o.looks
	m.inflight += o.inflight
	m.samples += o.samples
	m.uneven += o.uneven
	m.busiest += o.busiest
}
