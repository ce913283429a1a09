package sim

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// record is what an engine or a decision service has seen.
type record struct {
	off      bool
	received atomic.Int64
	inflight atomic.Int64
	aborted  atomic.Int64

	mu       sync.Mutex
	requests []*Request
	grown    chan struct{} // closed and replaced when a request comes
	over     bool
}

func newRecord(off bool) *record { return &record{off: off, grown: make(chan struct{})} }

// begin counts a request and, if it is to be kept, enters it.
func (r *record) begin(q *Request) {
	r.inflight.Add(1)
	r.received.Add(1)
	if r.off {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests = append(r.requests, q)
	r.wake()
}

// end says how a request ended.
func (r *record) end(q *Request, status int, answered, gone bool) {
	r.mu.Lock()
	q.Status, q.Answered, q.ClientGone = status, answered, gone
	r.mu.Unlock()
	if gone {
		r.aborted.Add(1)
	}
	r.inflight.Add(-1)
}

func (r *record) wake() {
	close(r.grown)
	r.grown = make(chan struct{})
}

// stop lets everybody go who waits.
func (r *record) stop() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.over {
		r.over = true
		r.wake()
	}
}

// Requests returns what was received so far, in the order in which the requests were complete. Header and Body must not
// be changed.
func (r *record) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make([]Request, len(r.requests))
	for i, q := range r.requests {
		out[i] = *q
	}
	return slices.Clip(out)
}

// Received returns the number of requests received so far, also when no record is kept.
func (r *record) Received() int { return int(r.received.Load()) }

// Inflight returns the number of requests that were received and whose answer is not through.
func (r *record) Inflight() int { return int(r.inflight.Load()) }

// Aborted returns the number of requests whose client closed the connection before the answer was through.
func (r *record) Aborted() int { return int(r.aborted.Load()) }

// WaitRequests waits until n requests have been received in all, but not longer than 10 s or than the service runs, and
// returns what there is then. Without a record it cannot know.
func (r *record) WaitRequests(n int) []Request {
	late := time.After(10 * time.Second)
	for {
		r.mu.Lock()
		enough, grown := len(r.requests) >= n || r.over, r.grown
		r.mu.Unlock()
		if enough {
			return r.Requests()
		}
		select {
		case <-grown:
		case <-late:
			return r.Requests()
		}
	}
}
