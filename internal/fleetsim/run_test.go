package fleetsim

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

// number is a pointer to a weight.
func number(f float64) *float64 { return &f }

// small is the default scenario, short.
func small() *Scenario {
	s := Default()
	s.WarmUp, s.Measure, s.Repeat = 3*time.Minute, 3*time.Minute, 1
	return &s
}

// simulated returns the result of one point.
func simulated(t *testing.T, s *Scenario, p Point) Result {
	t.Helper()
	p.Gateways = max(1, p.Gateways)
	if p.Load == 0 {
		p.Load = 1
	}
	if p.Share == "" {
		p.Share = ShareNothing
	}
	result, err := s.simulate(t.Context(), &p)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// every is one strategy of each sort.
var every = []Strategy{{By: "round_robin"}, {By: "target_weight"}, {Load: number(1)}, {Affinity: number(1)},
	{Affinity: number(1), LoadPer: number(0.25)}, {Affinity: number(1), Load: number(1), MaxInflight: 4}}

// Nothing gets lost: every request ends once, every place is given back, nobody waits for ever, and time never runs
// backwards.
func TestConservation(t *testing.T) {
	s := small()
	s.Kinds = []Kind{{Name: "fast", Part: 2, Speed: 1, Weight: 2}, {Name: "slow", Part: 1, Speed: 0.5, Weight: 1}}
	s.Roam = true
	for _, strategy := range every {
		for _, share := range []string{ShareNothing, ShareCounts, ShareAll} {
			p := Point{Instances: 7, Load: 2, Gateways: 3, Share: share, Strategy: strategy}
			r := newRun(s, &p, 1)
			before := 0.0
			for {
				a, now := r.calendar.next()
				if a == nil {
					break
				}
				if now < before {
					t.Fatalf("%s: %v comes after %v", strategy.title(), now, before)
				}
				before = now
				a.act(now)
				if limit := strategy.MaxInflight; limit > 0 {
					for _, g := range r.gateways {
						for _, c := range g.pool.Candidates() {
							if c.Engine.Inflight() > limit {
								t.Fatalf("%d in flight", c.Engine.Inflight())
							}
						}
					}
				}
			}
			if r.ended != r.number || r.number == 0 {
				t.Errorf("%s: %d requests ended of %d", strategy.title(), r.ended, r.number)
			}
			for i, e := range r.engines {
				if e.inflight != 0 || e.waiting.len() != 0 || e.prompts.len() != 0 || len(e.answers) != 0 || e.prompt.used > e.prompt.room {
					t.Errorf("%s: engine %d has %d requests left, and %d tokens", strategy.title(), i, e.inflight, e.prompt.used)
				}
			}
			for i, g := range r.gateways {
				if len(g.waiting) != 0 || g.queue.Len() != 0 {
					t.Errorf("%s: %d requests wait at gateway %d", strategy.title(), len(g.waiting), i)
				}
				for _, c := range g.pool.Candidates() {
					if n := c.Engine.Inflight(); n != 0 {
						t.Errorf("%s: gateway %d counts %d in flight at %s", strategy.title(), i, n, c.Instance)
					}
				}
			}
		}
	}
}

// A calendar hands out by time, and by the order of making at the same time.
func TestCalendar(t *testing.T) {
	var c calendar
	actors := make([]*arrival, 200)
	for i := range actors {
		actors[i] = &arrival{}
		c.set(actors[i], float64((i*37)%50))
	}
	for i := 0; i < len(actors); i += 3 {
		c.set(actors[i], float64((i*11)%60)) // anew
	}
	for i := 1; i < len(actors); i += 3 {
		c.cancel(actors[i])
		c.cancel(actors[i]) // which does nothing
	}
	last, n := appointment{time: -1}, 0
	for {
		a, now := c.next()
		if a == nil {
			break
		}
		n++
		is := *a.at()
		if now != is.time || is.time < last.time || (is.time == last.time && is.order < last.order) || is.place != 0 {
			t.Fatalf("%v comes after %v", is, last)
		}
		last = is
	}
	if n != len(actors)-67 {
		t.Errorf("%d appointments", n)
	}
}

// A run repeats exactly, alone or beside others, and another seed is another run.
func TestDeterminism(t *testing.T) {
	s := small()
	s.Instances, s.Gateways, s.Share, s.Strategies, s.Roam = []int{3, 5}, []int{1, 2}, []string{ShareNothing, ShareAll}, every, true
	once, err := Sweep(t.Context(), s, func(int, int) {})
	if err != nil {
		t.Fatal(err)
	}
	if want := 2 * 3 * len(every); len(once) != want || len(s.Points()) != want {
		t.Fatalf("%d results, not %d", len(once), want)
	}
	calls := 0
	again, err := Sweep(t.Context(), s, func(done, of int) {
		if calls++; done != calls || of != len(once) {
			t.Errorf("%d of %d are said to be done after %d", done, of, calls)
		}
	})
	if err != nil || !slices.EqualFunc(once, again, same) {
		t.Errorf("%v: %v\nis not\n%v", err, again, once)
	}
	s.Seed++
	other, _ := Sweep(t.Context(), s, func(int, int) {})
	if slices.EqualFunc(once, other, same) {
		t.Error("the seed makes no difference")
	}
}

func same(a, b Result) bool {
	return a.Requests == b.Requests && a.Events == b.Events && a.Median == b.Median && a.P99 == b.P99 && a.Hits == b.Hits &&
		a.Moved == b.Moved && a.Imbalance == b.Imbalance && a.Busiest == b.Busiest
}

// One session on one instance finds all that it has said before.
func TestOneSessionHits(t *testing.T) {
	s := small()
	s.Agents.PerInstance, s.Chat.PerInstance = 1, 0
	for _, strategy := range every {
		r := simulated(t, s, Point{Instances: 1, Strategy: strategy})
		if r.Hits != 1 || r.Moved != 0 || r.Requests == 0 {
			t.Errorf("%s: hits %v, moved %v of %d", strategy.title(), r.Hits, r.Moved, r.Requests)
		}
	}
}

// Every way of balancing meets the same clients: what they ask does not depend on who answers.
func TestSameLoad(t *testing.T) {
	s := small()
	s.Agents.PerInstance, s.Chat.PerInstance = 0, 1
	want := 0
	for _, strategy := range every {
		r := simulated(t, s, Point{Instances: 4, Strategy: strategy})
		if want == 0 {
			want = r.Requests
		}
		if r.Requests != want {
			t.Errorf("%s: %d requests, not %d", strategy.title(), r.Requests, want)
		}
	}
	// As many as a Poisson process has, within four standard deviations.
	mean := 4 * s.Chat.PerInstance * s.Measure.Seconds()
	if math.Abs(float64(want)-mean) > 4*math.Sqrt(mean) {
		t.Errorf("%d requests, not about %v", want, mean)
	}
}

// The fleet is driven by the plugins that serve, each with its weight.
func TestVotes(t *testing.T) {
	votes := (&Strategy{Affinity: number(2), LoadPer: number(0.25)}).votes(policies(), 12)
	if len(votes) != 2 || votes[0].Name != sessionaffinity.Name || votes[0].Weight != 2 ||
		votes[1].Name != leastinflight.Name || votes[1].Weight != 3 {
		t.Errorf("%v", votes)
	}
}

// In target_weight each kind has its share, whatever its number of instances.
func TestKinds(t *testing.T) {
	for parts, want := range map[string][]int{"1 1": {3, 2}, "1 9": {1, 4}, "4 1": {4, 1}} {
		var kinds []Kind
		for _, p := range strings.Fields(parts) {
			n, _ := strconv.Atoi(p)
			kinds = append(kinds, Kind{Name: p, Part: n})
		}
		var got []int
		for _, k := range divide(kinds, 5) {
			got = append(got, k.Part)
		}
		if !slices.Equal(got, want) {
			t.Errorf("parts %s of 5 instances: %v", parts, got)
		}
	}
	if got := divide([]Kind{{Part: 1}, {Part: 1}}, 1); len(got) != 1 || got[0].Part != 1 {
		t.Errorf("%v", got)
	}

	s := small()
	s.Agents.PerInstance, s.Chat.PerInstance = 0, 1
	s.Kinds = []Kind{{Name: "fast", Part: 1, Speed: 1, Weight: 3}, {Name: "slow", Part: 3, Speed: 1, Weight: 1}}
	r := newRun(s, &Point{Instances: 4, Load: 1, Gateways: 1, Share: ShareNothing, Strategy: Strategy{By: "target_weight"}}, 1)
	requests := map[string]int{}
	for range 400 {
		q := r.request()
		q.client, q.answer, q.prompt = &heard{last: map[uint64]float64{}}, 1, promptOf(1, 1)
		r.arrive(q, r.gateways[0], 0)
		requests[q.lease.Candidate().Model]++
	}
	if requests["fast"] != 300 || requests["slow"] != 100 {
		t.Errorf("%v", requests)
	}
}

func TestQuantile(t *testing.T) {
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("nothing has a median")
	}
	ten := []float32{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for q, want := range map[float64]float64{0: 1, 0.5: 5, 0.99: 10, 1: 10, 0.1: 1, 0.11: 2} {
		if got := quantile(ten, q); got != want {
			t.Errorf("quantile %v is %v", q, got)
		}
	}
}
