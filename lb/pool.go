package lb

import (
	"context"
	"errors"
	"time"

	"github.com/gpustack/gpustack-gateway/openai"
)

// Why a pick can't choose.
var (
	ErrFull = errors.New("every available instance is at its max_inflight")
	ErrDown = errors.New("no instance is available")
	ErrNone = errors.New("every available instance has been tried")
)

// By is how a route chooses.
type By uint8

// The ways to choose.
const (
	TargetWeight By = iota
	RoundRobin
	Policy
)

var byNames = [...]string{TargetWeight: "target_weight", RoundRobin: "round_robin", Policy: "policy"}

// String returns the way as the configuration calls it, "target_weight" for example.
func (b By) String() string {
	if int(b) < len(byNames) {
		return byNames[b]
	}
	return "unknown"
}

// Target is a target of a pool. Its name is its identity for rotation: a position survives while the name does.
type Target struct {
	Name   string
	Weight int64 // counts in target_weight only, where it is positive
}

// Weighted is a voter with its name and weight, a positive finite number.
type Weighted struct {
	Name   string
	Weight float64
	Voter  Voter
}

// Config is what a pool is made of. Fleet, Rand and every candidate's Engine are required, and every candidate's
// Target is a position in Targets.
type Config struct {
	Route      string // the rotation's identity, together with the names of the targets
	By         By
	Targets    []Target
	Candidates []Candidate
	Votes      []Weighted // count in policy only
	Health     HealthPolicy
	Fleet      *Fleet
	Rand       Rand // breaks ties
}

// Pool is the candidates of a route, or of one of its fallback targets, and how it chooses among them. Immutable, safe
// for any number of goroutines.
type Pool struct {
	route      string
	by         By
	health     HealthPolicy
	rand       Rand
	candidates []Candidate
	targets    []target
	*rotor     // the position among the targets
	round      round
	models     []int32 // each candidate's model, as a small number
	distinct   int     // how many models there are
	votes      []vote
	prepares   bool // one of them is a Preparer
}

type target struct {
	Target
	share   int64   // in the round
	members []int32 // positions of its candidates
	*rotor          // the position among them
}

// vote is a voter with the further things that it can do, found once.
type vote struct {
	Weighted
	marker   Marker
	preparer Preparer
	follower Follower
}

// NewPool makes a pool. It keeps the slices of c.
func NewPool(c Config) *Pool {
	p := &Pool{route: c.Route, by: c.By, health: c.Health, rand: c.Rand, candidates: c.Candidates,
		rotor: c.Fleet.rotor(c.Route, "")}
	weights := make([]int64, len(c.Targets))
	for i, t := range c.Targets {
		if c.By == TargetWeight {
			weights[i] = t.Weight
		}
		p.targets = append(p.targets, target{Target: t, rotor: c.Fleet.rotor(c.Route, t.Name)})
	}
	parts := shares(weights)
	p.round = newRound(parts)
	for i := range p.targets {
		p.targets[i].share = parts[i]
	}
	numbers := map[string]int32{}
	for i := range c.Candidates {
		c := &c.Candidates[i]
		t := &p.targets[c.Target]
		t.members = append(t.members, int32(i))
		n, ok := numbers[c.Model]
		if !ok {
			n = int32(len(numbers))
			numbers[c.Model] = n
		}
		p.models = append(p.models, n)
	}
	p.distinct = len(numbers)
	if c.By == Policy {
		for _, w := range c.Votes {
			v := vote{Weighted: w}
			v.marker, _ = w.Voter.(Marker)
			v.preparer, _ = w.Voter.(Preparer)
			v.follower, _ = w.Voter.(Follower)
			p.votes = append(p.votes, v)
			p.prepares = p.prepares || v.preparer != nil
		}
	}
	return p
}

// By returns how the pool chooses.
func (p *Pool) By() By { return p.by }

// Candidates returns the candidates in the order of the configuration. They must not be changed.
func (p *Pool) Candidates() []Candidate { return p.candidates }

// Targets returns the targets in the order of the configuration.
func (p *Pool) Targets() []Target {
	ts := make([]Target, len(p.targets))
	for i := range p.targets {
		ts[i] = p.targets[i].Target
	}
	return ts
}

// Votes returns the votes of a policy pool, and none of any other.
func (p *Pool) Votes() []Weighted {
	vs := make([]Weighted, len(p.votes))
	for v := range p.votes {
		vs[v] = p.votes[v].Weighted
	}
	return vs
}

// Returns tells when the first of the ejected candidates will be tried again, for a Retry-After. ok is false if none
// is ejected until a known time.
func (p *Pool) Returns(now time.Time) (at time.Time, ok bool) {
	for i := range p.candidates {
		c := &p.candidates[i]
		if s := c.Engine.Health(now); s.Status == Ejected && !c.Exempt && (!ok || s.Until.Before(at)) {
			at, ok = s.Until, true
		}
	}
	return at, ok
}

// Read lets the plugins take what they go by from the request, once for all attempts, without waiting. The error is a
// ready 400 that names the field which makes the request ambiguous: one written twice, for example. Prepare, Pick and
// Explain read as well and don't mind.
func (p *Pool) Read(r *Request) *openai.Error {
	r.at(p)
	return r.refusal
}

// Prepares reports whether Prepare has anything to do for this pool.
func (p *Pool) Prepares() bool { return p.prepares }

// Prepare lets the plugins find out what they must before they vote, and waits for them at most until ctx ends. It
// happens once a request: what they found serves all attempts, and a second Prepare does nothing. A request that is
// not prepared can be picked for all the same; those plugins then have no note to vote by.
func (p *Pool) Prepare(ctx context.Context, r *Request, now time.Time) {
	r.at(p)
	if r.prepared {
		return
	}
	r.prepared = true
	for v := range p.votes {
		if p.votes[v].preparer == nil {
			continue
		}
		c := choice{pool: p, request: r, now: now, widest: proving}
		if !c.survey() && p.health.FailOpen {
			c.widest = failing
			c.survey()
		}
		r.notes[v] = p.votes[v].preparer.Prepare(ctx, r, p.candidates, r.tally.live)
	}
}

// Pick chooses among the candidates not yet tried and counts the place in the same step. On success l holds it, and
// nothing was waited for. The errors are ErrFull if every live candidate is at its max_inflight, or, in target_weight,
// every one of the target whose turn it is; ErrDown if all are out and the route does not fail open; ErrNone if every
// one that is not out has been tried.
func (p *Pool) Pick(r *Request, l *Lease, now time.Time) error {
	if l.Held() {
		panic("lb: Pick into a lease that still holds a place")
	}
	r.at(p)
	c := choice{pool: p, request: r, now: now, lease: l}
	i, err := c.make()
	if err != nil {
		return err
	}
	for v := range p.votes {
		if f := p.votes[v].follower; f != nil {
			f.Picked(Picked{Request: r, Candidates: p.candidates, Index: i, ByModel: r.tally.byModel,
				Mark: &r.marks[v], Note: r.notes[v], Now: now})
		}
	}
	return nil
}
