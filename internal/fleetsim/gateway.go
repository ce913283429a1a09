package fleetsim

import (
	"errors"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

// route is the name of the only route.
const route = "fleet"

// gateway is one gateway: a pool of its own, with its own rotations and, unless they are shared, its own counts and its
// own memory of sessions that have moved.
type gateway struct {
	run     *run
	pool    *lb.Pool
	request lb.Request
	queue   *lb.Queue
	waiting []*request // in the queue, in its order
}

// newGateways makes the gateways of a run.
func newGateways(r *run, p *Point) []*gateway {
	var counts []*lb.Engine
	kinds := policies()
	gateways := make([]*gateway, p.Gateways)
	for i := range gateways {
		random := rand.NewPCG(r.seed, math.MaxUint64-uint64(i))
		fleet := lb.NewFleet(random.Uint64)
		if counts == nil || p.Share == ShareNothing {
			counts = engines(fleet, p.Instances)
		}
		if p.Share != ShareAll {
			kinds = policies()
		}
		fleet.Adopt(counts, route)
		gateways[i] = &gateway{run: r, queue: fleet.Queue(route), pool: lb.NewPool(lb.Config{Route: route, By: p.Strategy.by(),
			Targets: targets(r.kinds), Candidates: candidates(r.kinds, counts, p.Strategy.MaxInflight),
			Votes: p.Strategy.votes(kinds, p.Instances), Fleet: fleet, Rand: random.Uint64})}
	}
	return gateways
}

// policies returns the plugins that vote, with empty memories.
func policies() []plugins.Kind {
	return []plugins.Kind{sessionaffinity.New(), leastinflight.New()}
}

// engines returns n engines as the balancer knows them.
func engines(f *lb.Fleet, n int) []*lb.Engine {
	es := make([]*lb.Engine, n)
	for i := range es {
		es[i] = f.Engine("http://" + instance(i))
	}
	return es
}

// instance is the name of an instance.
func instance(i int) string { return "instance-" + strconv.Itoa(i+1) }

// targets returns one target for each kind of instance.
func targets(kinds []Kind) []lb.Target {
	ts := make([]lb.Target, len(kinds))
	for i, k := range kinds {
		ts[i] = lb.Target{Name: k.Name, Weight: k.Weight}
	}
	return ts
}

// candidates returns the instances. Kind.Part is how many there are of each.
func candidates(kinds []Kind, engines []*lb.Engine, limit int64) []lb.Candidate {
	cs := make([]lb.Candidate, 0, len(engines))
	for t, k := range kinds {
		for range k.Part {
			name := instance(len(cs))
			cs = append(cs, lb.Candidate{Target: t, Instance: name, Model: k.Name, Key: lb.CandidateKey(k.Name, name),
				Limit: limit, Engine: engines[len(cs)]})
		}
	}
	return cs
}

// by returns how a pool with this strategy chooses.
func (s *Strategy) by() lb.By {
	switch s.By {
	case lb.RoundRobin.String():
		return lb.RoundRobin
	case lb.TargetWeight.String():
		return lb.TargetWeight
	}
	return lb.Policy
}

// votes returns the policies that vote over n instances, with their weights.
func (s *Strategy) votes(kinds []plugins.Kind, n int) []lb.Weighted {
	if s.by() != lb.Policy {
		return nil
	}
	var votes []lb.Weighted
	for _, k := range kinds {
		weight := 0.0
		switch {
		case k.Name == leastinflight.Name:
			weight = s.load(n)
		case k.Name == sessionaffinity.Name && s.Affinity != nil:
			weight = *s.Affinity
		}
		if weight > 0 {
			votes = append(votes, lb.Weighted{Name: k.Name, Weight: weight,
				Voter: k.Build(plugins.NewSpec(plugins.SpecConfig{Route: route}))})
		}
	}
	return votes
}

// take chooses an instance for a request, or lets it wait until there is one.
func (g *gateway) take(r *request, now float64) {
	if len(g.waiting) == 0 && g.pick(r, now) {
		return
	}
	r.ticket = g.queue.Join(g.pool, math.MaxInt)
	g.waiting = append(g.waiting, r)
	g.serve(now)
}

// serve lets in who waits, as far as there is room.
func (g *gateway) serve(now float64) {
	for len(g.waiting) > 0 {
		r := g.waiting[0]
		select {
		case <-r.ticket.Turn():
		default:
			return
		}
		if !g.pick(r, now) {
			return
		}
		g.waiting[0] = nil
		g.waiting = g.waiting[1:]
		r.ticket.Leave()
	}
}

// pick gives a request to an instance, and reports false if all are full.
func (g *gateway) pick(r *request, now float64) bool {
	g.request.Reset()
	g.request.Header = r
	err := g.pool.Pick(&g.request, &r.lease, clock(now))
	if errors.Is(err, lb.ErrFull) {
		return false
	}
	if err != nil {
		panic(err) // no instance ever fails
	}
	g.run.engines[r.lease.Index()].add(r, now)
	return true
}

// end gives the request's place back.
func (g *gateway) end(r *request, now float64) {
	r.lease.Done(lb.Served, clock(now))
	for _, g := range g.run.gateways { // whose counts may be the same
		g.serve(now)
	}
}

// clock turns seconds since the start into a time.
func clock(now float64) time.Time { return time.Unix(0, int64(now*1e9)) }
