package lb

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// The tests' clock starts here and moves only when a test says so.
var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// dice returns a seeded Rand for any number of goroutines.
func dice(seed uint64) Rand {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 1))
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Uint64()
	}
}

var patient = HealthPolicy{Threshold: 3, Cooldown: 10 * time.Second, Ramp: 10 * time.Second, FailOpen: true}

// layout describes a pool: a number of instances for each target.
type layout struct {
	by        By
	weights   []int64 // by target; absent is 0
	instances []int   // by target
	limit     int64
	votes     []Weighted
	health    HealthPolicy
	fleet     *Fleet
	seed      uint64
}

func (y layout) pool() *Pool {
	r := dice(y.seed + 1)
	if y.fleet == nil {
		y.fleet = NewFleet(r)
	}
	if y.health == (HealthPolicy{}) {
		y.health = patient
	}
	c := Config{Route: "r", By: y.by, Votes: y.votes, Health: y.health, Fleet: y.fleet, Rand: r}
	for t, n := range y.instances {
		target := Target{Name: fmt.Sprintf("model/%c", 'a'+t)}
		if t < len(y.weights) {
			target.Weight = y.weights[t]
		}
		c.Targets = append(c.Targets, target)
		for i := range n {
			name := fmt.Sprintf("%c%d", 'a'+t, i+1)
			c.Candidates = append(c.Candidates, Candidate{Target: t, Instance: name, Model: target.Name,
				Key: CandidateKey(target.Name, name), Limit: y.limit, Engine: y.fleet.Engine("http://" + name)})
		}
	}
	return NewPool(c)
}

// byLoad and byOrder are the votes of least_inflight and of a session whose order is that of the candidates.
type byLoad struct{}

func (byLoad) Vote(b *Ballot) {
	for i, load := range b.Load {
		b.Scores[i] = 1 / (1 + load)
	}
}

type byOrder struct{}

func (byOrder) Vote(b *Ballot) {
	score := 1.0
	for i := range b.Scores {
		if b.Live[i] {
			b.Scores[i] = score
			score /= 2
		}
	}
}

// fixed gives the same scores whatever happens.
type fixed struct {
	scores   []float64
	strength float64
	perModel bool
}

func (f fixed) Vote(b *Ballot) {
	copy(b.Scores, f.scores)
	b.Strength, b.PerModel = f.strength, f.perModel
}

var leastLoad = []Weighted{{Name: "least_inflight", Weight: 1, Voter: byLoad{}}}

// pick picks for a fresh request.
func pick(t testing.TB, p *Pool, now time.Time) *Lease {
	t.Helper()
	l := &Lease{}
	if err := p.Pick(&Request{}, l, now); err != nil {
		t.Fatal(err)
	}
	return l
}

// serve picks n times, each request ending at once, and returns how many each candidate got.
func serve(t testing.TB, p *Pool, n int, now time.Time) []int {
	t.Helper()
	got := make([]int, len(p.Candidates()))
	for range n {
		l := pick(t, p, now)
		got[l.Index()]++
		l.Done(Served, now)
	}
	return got
}

// hold takes n places at candidate i's engine.
func hold(p *Pool, i int, n int64) { p.candidates[i].Engine.inflight.Add(n) }

// fail lets candidate i fail as often as ejects it.
func fail(p *Pool, i int, now time.Time) {
	e := p.candidates[i].Engine
	for range max(p.health.Threshold, 1) {
		e.learn(Failed, e.health.Load().age(), now, p.health)
	}
}

func within(got, want, tolerance int) bool { return got >= want-tolerance && got <= want+tolerance }
