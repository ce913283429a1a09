package fleetsim

import (
	"context"
	"math"
)

// run is one simulation.
type run struct {
	scenario *Scenario
	seed     uint64
	kinds    []Kind // Part is the number of instances
	calendar calendar
	engines  []*engine
	gateways []*gateway
	measure
	spare  []*request
	number uint64
	events uint64
}

// newRun puts a fleet and its clients in place.
func newRun(s *Scenario, p *Point, seed uint64) *run {
	r := &run{scenario: s, seed: seed, kinds: divide(s.Kinds, p.Instances)}
	r.from, r.until = s.WarmUp.Seconds(), (s.WarmUp + s.Measure).Seconds()
	for _, k := range r.kinds {
		for range k.Part {
			r.engines = append(r.engines, &engine{speed: s.Engine.speed(k.Speed), slots: s.Engine.Slots, run: r,
				prompt: newCache(s.Engine.CacheTokens)})
		}
	}
	r.gateways = newGateways(r, p)
	load := p.Load * float64(p.Instances)
	for i := range int(math.Round(s.Agents.PerInstance * load)) {
		newAgent(r, uint64(i)+1)
	}
	if rate := s.Chat.PerInstance * load; rate > 0 {
		newChat(r, rate)
	}
	r.calendar.set(&sampler{run: r}, r.from)
	return r
}

// divide returns the kinds with the numbers of instances for parts, without those that get none. What is left over of
// a whole number goes to the first kinds.
func divide(kinds []Kind, instances int) []Kind {
	parts := 0
	for _, k := range kinds {
		parts += k.Part
	}
	var out []Kind
	given, before := 0, 0
	for _, k := range kinds {
		before += k.Part
		until := (instances*before + parts - 1) / parts
		k.Part, given = until-given, until
		if k.Part > 0 {
			out = append(out, k)
		}
	}
	return out
}

// goOn lets everything happen until nothing is left to do, or ctx ends.
func (r *run) goOn(ctx context.Context) error {
	for {
		a, now := r.calendar.next()
		if a == nil {
			return nil
		}
		a.act(now)
		if r.events++; r.events%10_000 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// request returns an empty request.
func (r *run) request() *request {
	r.number++
	if last := len(r.spare) - 1; last >= 0 {
		q := r.spare[last]
		r.spare = r.spare[:last]
		q.number = r.number
		return q
	}
	return &request{number: r.number}
}

// arrive is a request's arrival at a gateway.
func (r *run) arrive(q *request, g *gateway, now float64) {
	q.arrived, q.cached, q.ticket, q.gateway = now, 0, nil, g

	g.take(q, now)
}

// first is the first token of a request's answer.
func (r *run) first(q *request, now float64) { r.count(q, now) }

// done is the end of a request's answer.
func (r *run) done(q *request, now float64) {
	q.gateway.end(q, now)
	q.client.answered(q, now)
	r.ended++
	r.spare = append(r.spare, q)
}
