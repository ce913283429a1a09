package fleetsim

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
)

// docs/scaling.md says at which weight a session moves in a fleet that is busy: when, for one of the other candidates,
//
//	weight * (its score - the owner's) / sum of all scores > (1 - 2^-k) / (2 (1 - 2^-N))
//
// where its place in the session's order is the k-th after the owner, and a score is 1 / (1 + requests in flight). With
// all others idle and k = 1 that is the formula behind the table of docs/session-affinity.md. The code that serves is
// asked, at a weight just below and just above.
func TestWeightThatMoves(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	moved := 0
	for range 200 {
		n := 2 + random.IntN(30)
		loads := make([]int, n)
		for i := range loads {
			loads[i] = random.IntN(9)
		}
		order := rank(t, n)
		owner := order[0]
		var sum float64
		for _, l := range loads {
			sum += score(l)
		}
		weight := math.Inf(1)
		for k, i := range order[1:] {
			if gap := (score(loads[i]) - score(loads[owner])) / sum; gap > 0 {
				affinity := (1 - math.Exp2(-float64(k+1))) / (2 * (1 - math.Exp2(-float64(n))))
				weight = min(weight, affinity/gap)
			}
		}
		if math.IsInf(weight, 1) {
			weight = 1e6 // nobody is better: no weight moves it
			if got := chosen(t, n, weight, loads); score(loads[got]) > score(loads[owner]) {
				t.Errorf("%v: moved from %d to %d", loads, owner, got)
			}
			continue
		}
		moved++
		if got := chosen(t, n, 0.999*weight, loads); got != owner {
			t.Errorf("%v: weight %v moves the session of %d to %d", loads, 0.999*weight, owner, got)
		}
		if got := chosen(t, n, 1.001*weight, loads); got == owner {
			t.Errorf("%v: weight %v does not move the session of %d", loads, 1.001*weight, owner)
		}
	}
	if moved < 100 {
		t.Errorf("%d cases only", moved)
	}
}

// The table of docs/scaling.md: the smallest number of requests at a session's owner that moves the session, among 64
// instances, by what the others have in flight and what the next in the session's order has. 0 is none up to 60.
func TestTableOfScaling(t *testing.T) {
	const n, never = 64, 60
	order := rank(t, n)
	for _, row := range []struct {
		others, next          int
		eighth, quarter, half int
	}{
		{0, 0, 0, 0, 1},
		{2, 0, 3, 1, 1},
		{2, 1, 0, 5, 3},
		{2, 2, 0, 0, 5},
		{5, 0, 1, 1, 1},
		{5, 1, 6, 3, 2},
		{5, 2, 0, 6, 4},
		{5, 3, 0, 11, 6},
		{5, 5, 0, 0, 11},
	} {
		for weight, want := range map[float64]int{n / 8: row.eighth, n / 4: row.quarter, n / 2: row.half} {
			moves := func(x int) bool {
				loads := slices.Repeat([]int{row.others}, n)
				loads[order[0]], loads[order[1]] = x, row.next
				return chosen(t, n, weight, loads) != order[0]
			}
			if (want == 0 && moves(never)) || (want > 0 && (!moves(want) || moves(want-1))) {
				t.Errorf("others %d, next %d, weight %v: does not move at %d", row.others, row.next, weight, want)
			}
		}
	}
}

func score(load int) float64 { return 1 / (1 + float64(load)) }

// balancer returns a gateway over n instances that have these requests in flight, and a request of a session.
func balancer(t *testing.T, n int, weight float64, loads []int) (*gateway, *lb.Request) {
	t.Helper()
	r := &run{scenario: &Scenario{}, kinds: []Kind{{Name: "engine", Part: n}}}
	g := newGateways(r, &Point{Instances: n, Gateways: 1, Share: ShareNothing,
		Strategy: Strategy{Affinity: number(1), Load: number(weight)}})[0]
	for i, load := range loads {
		for range load {
			var fill lb.Request
			fill.KeepTo(g.pool.Candidates()[i].Key)
			if err := g.pool.Pick(&fill, &lb.Lease{}, time.Time{}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return g, &lb.Request{Header: &request{session: []byte("a session")}}
}

// chosen returns where the session would go.
func chosen(t *testing.T, n int, weight float64, loads []int) int {
	t.Helper()
	g, r := balancer(t, n, weight, loads)
	return g.pool.Explain(r, time.Time{}).Pick
}

// rank returns the candidates in the session's order.
func rank(t *testing.T, n int) []int {
	t.Helper()
	g, r := balancer(t, n, 1e-9, nil)
	report := g.pool.Explain(r, time.Time{})
	return append([]int{report.Pick}, report.Rest...)
}

// What docs/scaling.md says of sizes and weights, loosely, on a small fleet.
func TestAdviceOnWeights(t *testing.T) {
	s := small()
	s.Chat.PerInstance = 0
	with := func(load, weight float64) Result {
		st := Strategy{Affinity: number(1), LoadPer: number(weight / 32)}
		if weight == 0 {
			st.LoadPer = nil
		}
		return simulated(t, s, Point{Instances: 32, Load: load, Strategy: st})
	}
	roundRobin := simulated(t, s, Point{Instances: 32, Load: 1.5, Strategy: every[0]})
	leastInflight := simulated(t, s, Point{Instances: 32, Load: 1.5, Strategy: every[2]})
	affinity, equal := with(1.5, 0), with(1.5, 1)
	eighth, half := with(1.5, 32/8), with(1.5, 32/2)

	if affinity.Hits < 0.95 || roundRobin.Hits > 0.5 || leastInflight.Hits > 0.5 {
		t.Errorf("hits: affinity %v, round robin %v, least in-flight %v", affinity.Hits, roundRobin.Hits, leastInflight.Hits)
	}
	if affinity.Rate < 1.2*roundRobin.Rate {
		t.Errorf("rates: affinity %v, round robin %v", affinity.Rate, roundRobin.Rate)
	}
	if leastInflight.Imbalance > 0.2 || affinity.Imbalance < 3*leastInflight.Imbalance {
		t.Errorf("imbalance: affinity %v, least in-flight %v", affinity.Imbalance, leastInflight.Imbalance)
	}
	// With 32 instances the default weights do next to nothing; an eighth of the number evens out; half costs hits.
	if equal.Moved > 0.002 || equal.Imbalance < 0.9*affinity.Imbalance {
		t.Errorf("1:1 moves %v, imbalance %v against %v", equal.Moved, equal.Imbalance, affinity.Imbalance)
	}
	if eighth.Imbalance > 0.85*affinity.Imbalance || eighth.Hits < affinity.Hits-0.02 {
		t.Errorf("N/8: imbalance %v, hits %v", eighth.Imbalance, eighth.Hits)
	}
	if half.Hits > eighth.Hits-0.03 || half.Imbalance > eighth.Imbalance {
		t.Errorf("N/2: imbalance %v, hits %v", half.Imbalance, half.Hits)
	}
	// With little to do, moving costs more than it saves.
	if quiet, quarter := with(0.5, 32/8), with(0.5, 32/4); quiet.P99 > 0.5*quarter.P99 {
		t.Errorf("half the load: p99 %v with N/8, %v with N/4", quiet.P99, quarter.P99)
	}
}

// What docs/scaling.md says of gateways.
func TestAdviceOnGateways(t *testing.T) {
	s := small()
	quarter := Strategy{Affinity: number(1), LoadPer: number(0.25)}
	at := func(roam bool, gateways int, share string) Result {
		s.Roam = roam
		return simulated(t, s, Point{Instances: 32, Load: 1.25, Gateways: gateways, Share: share, Strategy: quarter})
	}
	one, keeps, roams, shared := at(false, 1, ShareNothing), at(false, 4, ShareNothing), at(true, 4, ShareNothing), at(true, 4, ShareAll)
	if roams.Hits > one.Hits-0.1 || roams.Rate > 0.9*one.Rate || roams.Hits > keeps.Hits-0.05 {
		t.Errorf("hits %v with one gateway, %v if sessions keep to one of four, %v if not", one.Hits, keeps.Hits, roams.Hits)
	}
	if shared.Hits < one.Hits-0.02 {
		t.Errorf("hits %v if all is shared", shared.Hits)
	}

	s.Agents.PerInstance, s.Chat.PerInstance = 0, 1.5
	chats := func(gateways int, share string, strategy Strategy) float64 {
		return simulated(t, s, Point{Instances: 32, Gateways: gateways, Share: share, Strategy: strategy}).Imbalance
	}
	lone, few, many := chats(1, ShareNothing, every[2]), chats(2, ShareNothing, every[2]), chats(16, ShareNothing, every[2])
	if few > lone+0.1 || many < 1.5*few || many > 1.1*chats(16, ShareNothing, every[0]) {
		t.Errorf("imbalance %v of one gateway, %v of 2, %v of 16", lone, few, many)
	}
	if c := chats(16, ShareCounts, every[2]); math.Abs(c-lone) > 0.02 {
		t.Errorf("imbalance %v with counts shared, %v with one gateway", c, lone)
	}
}
