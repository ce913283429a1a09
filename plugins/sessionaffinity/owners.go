package sessionaffinity

import (
	"slices"
	"sync"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Only sessions that were moved are remembered; the others are where the hash says. So memory grows with what load and
// failures move, not with the number of keys that clients think up, and never beyond capacity.
const (
	capacity = 100_000   // sessions, over all routes; about 20 MB if all are taken
	rest     = time.Hour // a session that long without a request has no warm cache worth the memory
	shards   = 16        // so that requests rarely meet at a lock
	perRoute = 4         // owners of one session on one route: one a model, the latest
)

// owners is what is remembered of a session on a route: the candidates with its warm cache, by key, latest first.
type owners struct {
	keys [perRoute]uint64
	n    uint8
}

// after returns the owners after a request of the session went to candidate chosen. natural says that the hash would
// have sent it there without any memory, so that there is nothing to remember. Without a vote per model, the load was
// free to move the session anywhere, and the chosen one is the only owner. With one, the session has an owner in each
// model, and only the chosen one's model is concerned; owners that are no longer candidates are forgotten on the way.
func (o owners) after(candidates []lb.Candidate, chosen int, byModel, natural bool) owners {
	var next owners
	if key := candidates[chosen].Key; !natural || slices.Contains(o.keys[:o.n], key) {
		next.add(key)
	}
	if !byModel {
		return next
	}
	for _, key := range o.keys[:o.n] {
		for i := range candidates {
			if candidates[i].Key == key && candidates[i].Model != candidates[chosen].Model {
				next.add(key)
				break
			}
		}
	}
	return next
}

// add adds an owner behind the others, unless there is no room.
func (o *owners) add(key uint64) {
	if o.n < perRoute {
		o.keys[o.n] = key
		o.n++
	}
}

// place is a session on a route.
type place struct {
	route string
	session
}

type entry struct {
	owners
	used time.Time
}

// memory remembers owners: least recently used first to go, and none longer than rest after its last request. It runs
// nothing in the background: what has rested too long is passed over when met and removed by later writes.
type memory struct {
	shards [shards]struct {
		mu  sync.Mutex
		lru *simplelru.LRU[place, entry]
		_   [48]byte // keep the locks on cache lines of their own
	}

	mu      sync.Mutex
	rosters *simplelru.LRU[string, *roster] // by route
}

func newMemory(capacity int) *memory {
	m := &memory{rosters: newLRU[string, *roster](routes)}
	for i := range m.shards {
		m.shards[i].lru = newLRU[place, entry](max(1, capacity/shards))
	}
	return m
}

func newLRU[K comparable, V any](size int) *simplelru.LRU[K, V] {
	l, err := simplelru.NewLRU[K, V](size, nil)
	if err != nil {
		panic(err) // a size that is not positive
	}
	return l
}

// roster returns the roster of a route whose candidates are now these.
func (m *memory) roster(route string, candidates []lb.Candidate, now time.Time) *roster {
	m.mu.Lock()
	defer m.mu.Unlock()
	was, _ := m.rosters.Peek(route)
	is := was.follow(candidates, now)
	m.rosters.Add(route, is)
	return is
}

// peek returns a session's owners and changes nothing.
func (m *memory) peek(at place, now time.Time) owners {
	s := &m.shards[at.lo%shards]
	s.mu.Lock()
	e, ok := s.lru.Peek(at)
	s.mu.Unlock()
	if !ok || now.Sub(e.used) >= rest {
		return owners{}
	}
	return e.owners
}

// picked learns from a choice, and reports whether it moved the session: to where neither the hash nor the memory would
// have sent it. See owners.after.
func (m *memory) picked(at place, candidates []lb.Candidate, chosen int, byModel, natural bool, now time.Time) (moved bool) {
	s := &m.shards[at.lo%shards]
	s.mu.Lock()
	defer s.mu.Unlock()
	e, known := s.lru.Peek(at)
	var was owners
	if known && now.Sub(e.used) < rest {
		was = e.owners
	}
	moved = !natural && !slices.Contains(was.keys[:was.n], candidates[chosen].Key)
	if next := was.after(candidates, chosen, byModel, natural); next.n > 0 {
		s.lru.Add(at, entry{next, now})
	} else if known {
		s.lru.Remove(at)
	}
	// Two at most for each write: faster than they can be added, and no request pays for many.
	for range 2 {
		key, oldest, ok := s.lru.GetOldest()
		if !ok || now.Sub(oldest.used) < rest {
			break
		}
		s.lru.Remove(key)
	}
	return moved
}

// len returns how many sessions are remembered.
func (m *memory) len() int {
	n := 0
	for i := range m.shards {
		m.shards[i].mu.Lock()
		n += m.shards[i].lru.Len()
		m.shards[i].mu.Unlock()
	}
	return n
}
