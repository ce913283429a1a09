package admin

import (
	"sync"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/metrics"
)

// What Recent remembers, whatever happens: some 250 KB, and 200 bytes for each candidate of a route.
const (
	remembered = 500              // requests
	buckets    = 30               // that the counts are kept in
	bucket     = 10 * time.Second // that each of them is for
	window     = buckets * bucket // how long ago requests count as served lately
	longestID  = 128
)

// Recent remembers the requests that ended last, and counts who served those of the last minutes. Safe for any number of
// goroutines.
type Recent struct {
	mu     sync.Mutex
	next   uint64 // number of the next request, from 1
	ring   [remembered]ended
	counts map[place]*count
	pruned int64 // bucket in which counts were last looked through for those that are over
}

// NewRecent returns what remembers nothing yet.
func NewRecent() *Recent { return &Recent{next: 1, counts: map[place]*count{}} }

// ended is a request that has ended. It holds on to no snapshot.
type ended struct {
	number                                      uint64
	time                                        time.Time
	id                                          [longestID]byte
	idLength                                    int
	endpoint, key, route, routeBy               string
	target, instance, model, decidedBy, outcome string
	status, attempts                            int
	fallback, stream                            bool
	firstByte, total                            time.Duration
	tokens                                      metrics.Tokens
}

// place is where a request was served: a route, and which of its candidates.
type place struct {
	route string
	key   uint64 // lb.Candidate.Key
}

// count is how many requests a place has served lately.
type count struct {
	last int64 // bucket of the last one, since the epoch
	n    [buckets]uint32
}

// Observe takes in a request that has ended. It allocates only for a place that has served nothing lately.
func (r *Recent) Observe(e gateway.Ended) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := &r.ring[r.next%remembered]
	*s = ended{number: r.next, time: e.Time, endpoint: e.Endpoint, key: e.Key, decidedBy: e.DecidedBy, outcome: e.Outcome,
		status: e.Status, attempts: e.Attempts, fallback: e.Fallback, stream: e.Stream, firstByte: e.FirstByte,
		total: e.Total, tokens: e.Tokens}
	s.idLength = copy(s.id[:], e.ID)
	r.next++
	if e.Route == nil {
		return
	}
	s.route, s.routeBy = e.Route.Name, e.Route.By.String()
	if e.To == nil {
		return
	}
	s.target, s.instance, s.model = e.To.Target, e.To.Instance, e.To.Model
	r.count(place{e.Route.Name, e.To.Key}, e.Time.UnixNano()/int64(bucket))
}

// count counts a request. r.mu is held.
func (r *Recent) count(p place, now int64) {
	c := r.counts[p]
	if c == nil {
		r.prune(now)
		c = &count{last: now}
		r.counts[p] = c
	}
	c.advance(now)
	c.n[now%buckets]++
}

// advance empties the buckets that have passed since the last request.
func (c *count) advance(now int64) {
	for b := max(c.last+1, now-buckets+1); b <= now; b++ {
		c.n[b%buckets] = 0
	}
	c.last = max(c.last, now)
}

// prune forgets the places that have served nothing lately. r.mu is held.
func (r *Recent) prune(now int64) {
	if r.pruned == now {
		return
	}
	r.pruned = now
	for p, c := range r.counts {
		if c.last <= now-buckets {
			delete(r.counts, p)
		}
	}
}

// served returns how many requests each place has served lately.
func (r *Recent) served(at time.Time) map[place]int64 {
	if r == nil {
		return nil
	}
	now := at.UnixNano() / int64(bucket)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prune(now)
	served := make(map[place]int64, len(r.counts))
	for p, c := range r.counts {
		var sum int64
		for b := max(now, c.last) - buckets + 1; b <= c.last; b++ {
			sum += int64(c.n[b%buckets])
		}
		served[p] = sum
	}
	return served
}

// since returns the requests after a number, the oldest first, at most so many of the newest; and the number of the last
// one there is.
func (r *Recent) since(number uint64, most int) (requests []ended, last uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last = r.next - 1
	if number > last {
		number = 0 // of another process
	}
	from := max(number+1, r.next-min(r.next-1, uint64(min(most, remembered))))
	for n := from; n < r.next; n++ {
		requests = append(requests, r.ring[n%remembered])
	}
	return requests, last
}
