package lb

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
)

// Fleet is what is happening: the engines by URL, the rotation positions by route and target, the queues by route. There is one in a
// process, and it outlives every reload. Safe for any number of goroutines; no pick touches it.
type Fleet struct {
	rand Rand

	mu      sync.Mutex
	engines map[string]*member
	rotors  map[rotation]*rotor
	queues  map[string]*Queue // by route
}

type member struct {
	*Engine
	leaving bool // no longer wanted, and forgotten once idle
}

// rotation names a position: of a route among its targets if target is empty, else of a target among its instances.
type rotation struct{ route, target string }

// rotor is a rotation's position. Its size keeps two of them off one cache line.
type rotor struct {
	turn atomic.Uint64 // advanced by every choice
	miss atomic.Uint64 // advanced by a choice that could not keep to its turn
	_    [112]byte
}

// NewFleet returns an empty fleet. Rotations start at a position that rand gives, so that several gateways don't
// march in step.
func NewFleet(rand Rand) *Fleet {
	return &Fleet{rand: rand, engines: map[string]*member{}, rotors: map[rotation]*rotor{}, queues: map[string]*Queue{}}
}

// Engine returns the engine of a URL: the one that the fleet knows, or a new one, which the fleet knows only after
// Adopt. Who builds a configuration asks once for each URL and shares what it gets.
func (f *Fleet) Engine(url string) *Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	if m := f.engines[url]; m != nil && (!m.leaving || m.Inflight() > 0) {
		return m.Engine
	}
	return &Engine{url: url}
}

// Engines returns the engines in use and those that still have requests of an earlier configuration, by URL.
func (f *Fleet) Engines() []*Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	var es []*Engine
	for _, m := range f.engines {
		if !m.leaving || m.Inflight() > 0 {
			es = append(es, m.Engine)
		}
	}
	slices.SortFunc(es, func(a, b *Engine) int { return strings.Compare(a.url, b.url) })
	return es
}

// Adopt makes the fleet remember what a new configuration uses, once it serves: its engines and the rotation positions
// of its routes. Other positions are forgotten, and other engines once they have no requests.
func (f *Fleet) Adopt(engines []*Engine, routes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	maps.DeleteFunc(f.engines, func(_ string, m *member) bool {
		m.leaving = true
		return m.Inflight() == 0
	})
	for _, e := range engines {
		f.engines[e.url] = &member{Engine: e}
	}
	used := make(map[string]bool, len(routes))
	for _, r := range routes {
		used[r] = true
	}
	maps.DeleteFunc(f.rotors, func(r rotation, _ *rotor) bool { return !used[r.route] })
	maps.DeleteFunc(f.queues, func(route string, q *Queue) bool { return !used[route] && q.Len() == 0 })
}

// Queue returns the line of requests that wait for a place at a route.
func (f *Fleet) Queue(route string) *Queue {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := f.queues[route]
	if q == nil {
		q = &Queue{}
		f.queues[route] = q
	}
	return q
}

func (f *Fleet) rotor(route, target string) *rotor {
	f.mu.Lock()
	defer f.mu.Unlock()
	name := rotation{route, target}
	r := f.rotors[name]
	if r == nil {
		r = &rotor{}
		// Half the bits, so that a position never comes to its end, where a rotation would break.
		r.turn.Store(f.rand() >> 32)
		r.miss.Store(f.rand() >> 32)
		f.rotors[name] = r
	}
	return r
}
