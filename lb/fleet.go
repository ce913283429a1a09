package lb

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"weak"
)

// Fleet is what is happening: the engines by URL, the rotation positions by route and target, the queues by route. There is one in a
// process, and it outlives every reload. Safe for any number of goroutines; no pick touches it.
type Fleet struct {
	rand Rand

	mu      sync.Mutex
	engines map[string]*Engine              // of the configuration that serves
	left    map[string]weak.Pointer[Engine] // of earlier ones: a request that began with one of them may still choose them
	rotors  map[rotation]*rotor
	queues  map[string]*Queue // by route
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
	return &Fleet{rand: rand, engines: map[string]*Engine{}, left: map[string]weak.Pointer[Engine]{}, rotors: map[rotation]*rotor{}, queues: map[string]*Queue{}}
}

// Engine returns the engine of a URL: the one that the fleet knows, or a new one, which the fleet knows only after
// Adopt. Who builds a configuration asks once for each URL and shares what it gets.
func (f *Fleet) Engine(url string) *Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	if e := f.engines[url]; e != nil {
		return e
	}
	if e := f.left[url].Value(); e != nil { // else two would count what one engine has
		return e
	}
	return &Engine{url: url}
}

// Engines returns the engines in use and those that still have requests of an earlier configuration, by URL.
func (f *Fleet) Engines() []*Engine {
	f.mu.Lock()
	defer f.mu.Unlock()
	es := slices.Collect(maps.Values(f.engines))
	for _, w := range f.left {
		if e := w.Value(); e != nil && e.Inflight() > 0 {
			es = append(es, e)
		}
	}
	slices.SortFunc(es, func(a, b *Engine) int { return strings.Compare(a.url, b.url) })
	return es
}

// Adopt makes the fleet remember what a new configuration uses, once it serves: its engines and the rotation positions
// of its routes. Other positions are forgotten. Other engines are known for as long as a request can choose them; one
// that was idle when it comes back has no past.
func (f *Fleet) Adopt(engines []*Engine, routes ...string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	was := f.engines
	f.engines = make(map[string]*Engine, len(engines))
	for _, e := range engines {
		f.engines[e.url] = e
		if was[e.url] != e && e.Inflight() == 0 {
			e.forget()
		}
		delete(f.left, e.url)
	}
	for url, e := range was {
		if f.engines[url] == nil {
			f.left[url] = weak.Make(e)
		}
	}
	maps.DeleteFunc(f.left, func(_ string, w weak.Pointer[Engine]) bool { return w.Value() == nil })
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
