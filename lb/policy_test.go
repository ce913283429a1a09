package lb

import (
	"context"
	"math"
	"slices"
	"sync"
	"testing"

	"github.com/gpustack/gpustack-gateway/openai"
)

func TestC039_TiesAreDrawnAndBurstsSpread(t *testing.T) {
	p := layout{by: Policy, instances: []int{4}, votes: leastLoad}.pool()
	for i, n := range serve(t, p, 4000, start) {
		if !within(n, 1000, 110) { // four standard deviations
			t.Errorf("instance %d got %d of 4000 one after the other", i, n)
		}
	}
	for range 20 {
		burst(t, []*Pool{p}, 100, []int64{25, 25, 25, 25})
	}
}

// A burst over two routes that share their engines spreads as one.
func TestC039_BurstAcrossRoutes(t *testing.T) {
	fleet := NewFleet(dice(1))
	y := layout{by: Policy, instances: []int{4}, votes: leastLoad, fleet: fleet}
	first := y.pool()
	var engines []*Engine
	for _, c := range first.Candidates() {
		engines = append(engines, c.Engine)
	}
	fleet.Adopt(engines, "r")
	for range 20 {
		burst(t, []*Pool{first, y.pool()}, 100, []int64{25, 25, 25, 25})
	}
}

// burst picks n times at once, holds all leases, checks the counts and gives all back.
func burst(t *testing.T, pools []*Pool, n int, want []int64) {
	t.Helper()
	leases := make([]Lease, n)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range leases {
		wg.Go(func() {
			<-begin
			if err := pools[i%len(pools)].Pick(&Request{}, &leases[i], start); err != nil {
				t.Error(err)
			}
		})
	}
	close(begin)
	wg.Wait()
	var got []int64
	for _, c := range pools[0].Candidates() {
		got = append(got, c.Engine.Inflight())
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %v", got)
	}
	for i := range leases {
		leases[i].Done(Served, start)
	}
}

func TestC048_CapIsTakenWithTheCount(t *testing.T) {
	for _, by := range []By{RoundRobin, TargetWeight, Policy} {
		t.Run(by.String(), func(t *testing.T) {
			p := layout{by: by, instances: []int{2}, limit: 1, votes: leastLoad}.pool()
			for range 50 {
				leases := make([]Lease, 6)
				errs := make([]error, 6)
				begin := make(chan struct{})
				var wg sync.WaitGroup
				for i := range leases {
					wg.Go(func() {
						<-begin
						errs[i] = p.Pick(&Request{}, &leases[i], start)
					})
				}
				close(begin)
				wg.Wait()
				admitted := 0
				for i := range leases {
					if errs[i] == nil {
						admitted++
					} else if errs[i] != ErrFull {
						t.Error(errs[i])
					}
					leases[i].Done(Served, start)
				}
				if admitted != 2 {
					t.Fatalf("%d of 6 admitted by two caps of 1", admitted)
				}
			}
		})
	}
}

// Hammering pools of all kinds over shared, capped engines: no cap is exceeded and no count is lost.
func TestCapsHoldUnderConcurrency(t *testing.T) {
	const limit = 3
	fleet := NewFleet(dice(1))
	y := layout{by: RoundRobin, instances: []int{2, 3}, weights: []int64{2, 1}, limit: limit, votes: leastLoad, fleet: fleet}
	pools := []*Pool{y.pool()}
	var engines []*Engine
	for _, c := range pools[0].Candidates() {
		engines = append(engines, c.Engine)
	}
	fleet.Adopt(engines, "r")
	for _, by := range []By{TargetWeight, Policy} {
		y.by = by
		pools = append(pools, y.pool())
	}
	var wg sync.WaitGroup
	for g := range 24 {
		wg.Go(func() {
			r, l := &Request{}, &Lease{}
			for k := range 300 {
				r.Reset()
				if pools[(g+k)%len(pools)].Pick(r, l, start) != nil {
					continue
				}
				if n := l.Candidate().Engine.Inflight(); n > limit || n < 1 {
					t.Errorf("%d in flight", n)
				}
				l.Done(Outcome(k%3), start)
			}
		})
	}
	wg.Wait()
	for _, e := range engines {
		if e.Inflight() != 0 || e.probes.Load() != 0 {
			t.Errorf("%s: %d in flight, %d probes", e.URL(), e.Inflight(), e.probes.Load())
		}
	}
}

func TestPolicy_PassesOverTheFullInOrderOfTotal(t *testing.T) {
	p := layout{by: Policy, instances: []int{4}, limit: 5, votes: []Weighted{{"order", 1, byOrder{}}}}.pool()
	for want := range 4 {
		for range 5 {
			if l := pick(t, p, start); l.Index() != want {
				t.Fatalf("got %d, want %d", l.Index(), want)
			}
		}
	}
	if err := p.Pick(&Request{}, &Lease{}, start); err != ErrFull {
		t.Error(err)
	}
}

func TestPolicy_BadScoresCountAsZero(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	tests := []struct {
		name   string
		scores []float64
		want   []float64
	}{
		{"negative", []float64{-5, 1, 1, 0}, []float64{0, .5, .5, 0}},
		{"not a number", []float64{nan, 3, 1, nan}, []float64{0, .75, .25, 0}},
		{"infinite", []float64{inf, 3, -inf, 1}, []float64{0, .75, 0, .25}},
		{"nothing left", []float64{inf, nan, -1, 0}, []float64{0, 0, 0, 0}},
		{"huge", []float64{math.MaxFloat64, math.MaxFloat64, 0, 0}, []float64{.5, .5, 0, 0}},
		{"tiny", []float64{5e-324, 5e-324, 0, 0}, []float64{.5, .5, 0, 0}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := layout{by: Policy, instances: []int{4}, votes: []Weighted{{"p", 2, fixed{test.scores, 1, false}}}}.pool()
			for i, c := range p.Explain(&Request{}, start).Candidates {
				if got := c.Votes[0].Normalised; math.Abs(got-test.want[i]) > 1e-12 {
					t.Errorf("candidate %d: %v, want %v", i, got, test.want[i])
				}
				if math.Abs(c.Total-2*test.want[i]) > 1e-12 {
					t.Errorf("candidate %d: total %v", i, c.Total)
				}
			}
			pick(t, p, start).Done(Served, start)
		})
	}
}

func TestPolicy_BadStrengthAbstains(t *testing.T) {
	for _, strength := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		votes := []Weighted{{"unsure", 10, fixed{[]float64{0, 1}, strength, false}}, {"order", 1, byOrder{}}}
		p := layout{by: Policy, instances: []int{2}, votes: votes}.pool()
		if got := serve(t, p, 10, start); got[0] != 10 {
			t.Errorf("strength %v: %v", strength, got)
		}
	}
}

func TestPolicy_AllAbstainIsRoundRobin(t *testing.T) {
	p := layout{by: Policy, instances: []int{1, 2}, weights: []int64{9, 1}, votes: []Weighted{{"nothing", 1, fixed{}}}}.pool()
	if got := serve(t, p, 400, start); !slices.Equal(got, []int{200, 100, 100}) {
		t.Errorf("got %v", got)
	}
	fail(p, 0, start)
	if got := serve(t, p, 400, start); !slices.Equal(got, []int{0, 200, 200}) {
		t.Errorf("with one out: %v", got)
	}
}

// A verdict for a model is worth the same however many instances the model has, and load chooses among those.
func TestPolicy_VotePerModel(t *testing.T) {
	for _, replicas := range [][]int{{10, 1}, {1, 10}} {
		scores := make([]float64, 11)
		for i := range scores {
			scores[i] = .9
			if i >= replicas[0] {
				scores[i] = .1
			}
		}
		votes := []Weighted{{"verdict", 10, fixed{scores, .8, true}}, {"least_inflight", 1, byLoad{}}}
		p := layout{by: Policy, instances: replicas, votes: votes}.pool()
		report := p.Explain(&Request{}, start)
		for i, c := range report.Candidates {
			if math.Abs(c.Votes[0].Contribution-8*scores[i]) > 1e-9 {
				t.Errorf("%v: candidate %d gets %v", replicas, i, c.Votes[0].Contribution)
			}
		}
		for range 10 * replicas[0] {
			pick(t, p, start)
		}
		for i, c := range p.Candidates() {
			want := int64(10)
			if i >= replicas[0] {
				want = 0
			}
			if c.Engine.Inflight() != want {
				t.Errorf("%v: instance %d has %d, want %d", replicas, i, c.Engine.Inflight(), want)
			}
		}
	}
}

func TestPolicy_OutAndTriedTakeNoPart(t *testing.T) {
	p := layout{by: Policy, instances: []int{4}, votes: []Weighted{{"order", 1, byOrder{}}}}.pool()
	fail(p, 0, start)
	r := &Request{}
	p.Read(r)
	r.Tried(1)
	report := p.Explain(r, start)
	for i, want := range []float64{0, 0, 2. / 3, 1. / 3} {
		if math.Abs(report.Candidates[i].Total-want) > 1e-12 {
			t.Errorf("candidate %d: %v, want %v", i, report.Candidates[i].Total, want)
		}
	}
}

// diary is a plugin with everything a plugin may have.
type diary struct {
	marked, prepared int
	picked           []Picked
}

func (d *diary) Mark(_ *Request, m *Mark) (err *openai.Error) {
	d.marked++
	m[0] = 42
	return nil
}

func (d *diary) Prepare(_ context.Context, _ *Request, _ []Candidate, _ []bool) any {
	d.prepared++
	return "note"
}

func (d *diary) Vote(b *Ballot) {
	if b.Mark[0] == 42 && b.Note == "note" && b.Request.Route() == "r" && b.Now.Equal(start) {
		b.Scores[1] = 1
	}
}

func (d *diary) Picked(p Picked) {
	if p.Mark[0] == 42 && p.Note == "note" && p.Now.Equal(start) {
		d.picked = append(d.picked, p)
	}
}

func TestPolicy_PluginLife(t *testing.T) {
	d := &diary{}
	p := layout{by: Policy, instances: []int{3}, votes: []Weighted{{"diary", 1, d}}}.pool()
	r, l := &Request{}, &Lease{}
	for want := 1; want <= 2; want++ {
		p.Prepare(t.Context(), r, start)
		p.Prepare(t.Context(), r, start)
		p.Explain(r, start)
		if err := p.Pick(r, l, start); err != nil || l.Index() != 1 || l.By() != "diary" {
			t.Fatalf("%v, %d by %q", err, l.Index(), l.By())
		}
		r.Tried(1)
		l.Done(Failed, start)
		if err := p.Pick(r, l, start); err != nil || l.Index() == 1 || l.By() != "" {
			t.Fatalf("second attempt: %v, %d by %q", err, l.Index(), l.By())
		}
		l.Done(Served, start)
		if d.marked != want || d.prepared != want || len(d.picked) != 2*want {
			t.Errorf("request %d: %d marked, %d prepared, %d picked", want, d.marked, d.prepared, len(d.picked))
		}
		r.Reset()
	}
}

func TestLease_By(t *testing.T) {
	votes := []Weighted{
		{"small", 1, fixed{[]float64{1, 0}, 1, false}},
		{"large", 3, fixed{[]float64{1, 0}, 1, false}},
		{"against", 2, fixed{[]float64{0, 1}, 1, false}},
	}
	if l := pick(t, layout{by: Policy, instances: []int{2}, votes: votes}.pool(), start); l.By() != "large" {
		t.Errorf("by %q", l.By())
	}
	if l := pick(t, layout{by: Policy, instances: []int{1}, votes: votes}.pool(), start); l.By() != "" {
		t.Errorf("without a choice by %q", l.By())
	}
	if l := pick(t, layout{by: Policy, instances: []int{2}, votes: leastLoad}.pool(), start); l.By() != "" {
		t.Errorf("a tie by %q", l.By())
	}
	if l := pick(t, layout{by: RoundRobin, instances: []int{2}, votes: votes}.pool(), start); l.By() != "" {
		t.Errorf("round robin by %q", l.By())
	}
	if l := (&Lease{}); l.By() != "" || l.Candidate() != nil || l.Held() || l.Done(Served, start) {
		t.Error("a lease of nothing says something")
	}
}

func TestLease_DoneOnce(t *testing.T) {
	p := layout{by: RoundRobin, instances: []int{1}}.pool()
	l := pick(t, p, start)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() { l.Done(Failed, start) })
	}
	wg.Wait()
	if n := p.candidates[0].Engine.Inflight(); n != 0 {
		t.Errorf("%d in flight", n)
	}
	if s := p.candidates[0].Engine.Health(start); s.Status != Up {
		t.Error("one failure counted more than once")
	}
	defer func() {
		if recover() == nil {
			t.Error("a held lease was picked into")
		}
	}()
	l = pick(t, p, start)
	_ = p.Pick(&Request{}, l, start)
}
