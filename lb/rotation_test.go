package lb

import (
	"errors"
	"slices"
	"testing"
	"time"
)

func TestTargetWeight_SevenThreeInAnyTen(t *testing.T) {
	p := layout{by: TargetWeight, weights: []int64{70, 30}, instances: []int{1, 2}}.pool()
	var got []int
	for range 200 {
		l := pick(t, p, start)
		got = append(got, l.Candidate().Target)
		l.Done(Served, start)
	}
	for from := range len(got) - 10 {
		if n := sum(got[from : from+10]); n != 3 {
			t.Fatalf("requests %d to %d: %d of 10 for the weight of 30", from, from+9, n)
		}
	}
}

func sum(ns []int) int {
	n := 0
	for _, v := range ns {
		n += v
	}
	return n
}

func TestC037_WeightsAreOfTargetsNotInstances(t *testing.T) {
	for _, replicas := range []int{8, 2} {
		p := layout{by: TargetWeight, weights: []int64{95, 5}, instances: []int{1, replicas}}.pool()
		got := serve(t, p, 2000, start)
		if got[0] != 1900 {
			t.Errorf("1 and %d instances: %d of 2000 for the weight of 95", replicas, got[0])
		}
		for i, n := range got[1:] {
			if !within(n, 100/replicas, 1) {
				t.Errorf("instance %d of %d: %d of 100", i+1, replicas, n)
			}
		}
	}
}

func TestC038_TargetsOnOneEngineStaySeparate(t *testing.T) {
	fleet := NewFleet(dice(1))
	engine := fleet.Engine("http://shared")
	c := Config{Route: "r", By: TargetWeight, Fleet: fleet, Rand: dice(2)}
	for i, model := range []string{"base", "lora-a", "lora-b", "lora-c"} {
		c.Targets = append(c.Targets, Target{Name: "model/" + model, Weight: 25})
		c.Candidates = append(c.Candidates, Candidate{Target: i, Model: model, Engine: engine})
	}
	p := NewPool(c)
	if got := serve(t, p, 200, start); !slices.Equal(got, []int{50, 50, 50, 50}) {
		t.Errorf("got %v", got)
	}
	a, b := pick(t, p, start), pick(t, p, start)
	if engine.Inflight() != 2 {
		t.Errorf("one engine counts %d of 2 requests", engine.Inflight())
	}
	a.Done(Served, start)
	b.Done(Served, start)
}

func TestRoundRobin_TargetsThenInstances(t *testing.T) {
	p := layout{by: RoundRobin, instances: []int{1, 3}}.pool()
	if got := serve(t, p, 600, start); !slices.Equal(got, []int{300, 100, 100, 100}) {
		t.Errorf("got %v", got)
	}
}

func TestTargetWeight_FullTargetKeepsItsShare(t *testing.T) {
	p := layout{by: TargetWeight, weights: []int64{1, 1}, instances: []int{2, 1}, limit: 10}.pool()
	hold(p, 0, 10) // one of two: the other takes all of the target's share
	if got := serve(t, p, 100, start); !slices.Equal(got, []int{0, 50, 50}) {
		t.Errorf("one instance full: %v", got)
	}
	hold(p, 1, 10)
	refused, other := 0, 0
	for range 100 {
		l := &Lease{}
		if err := p.Pick(&Request{}, l, start); errors.Is(err, ErrFull) {
			refused++
			continue
		}
		if l.Index() == 2 {
			other++
		}
		l.Done(Served, start)
	}
	if refused != 50 || other != 50 {
		t.Errorf("target full: %d refused and %d elsewhere, want 50 and 50", refused, other)
	}
}

// A request that was refused for its target's fullness and asks again (from a queue) still asks for that target.
func TestTargetWeight_RefusedRequestKeepsItsTurn(t *testing.T) {
	p := layout{by: TargetWeight, weights: []int64{1, 1}, instances: []int{1, 1}, limit: 1}.pool()
	hold(p, 0, 1)
	hold(p, 1, 1)
	rs := make([]Request, 10)
	for i := range rs {
		if err := p.Pick(&rs[i], &Lease{}, start); err != ErrFull {
			t.Fatal(err)
		}
	}
	hold(p, 0, -1)
	served := 0
	for i := range rs {
		l := &Lease{}
		if p.Pick(&rs[i], l, start) == nil {
			served++
			l.Done(Served, start)
		}
	}
	if served != 5 {
		t.Errorf("%d of 10 were served by the one free target of two", served)
	}
}

func TestTargetWeight_RetryLeavesAFullTarget(t *testing.T) {
	p := layout{by: TargetWeight, weights: []int64{1, 1}, instances: []int{2, 2}, limit: 1}.pool()
	r, l := &Request{}, &Lease{}
	if err := p.Pick(r, l, start); err != nil {
		t.Fatal(err)
	}
	first := l.Candidate()
	r.Tried(l.Index())
	l.Done(Failed, start)
	sibling := 2*first.Target + 1 - l.Index()%2
	hold(p, sibling, 1)
	if err := p.Pick(r, l, start); err != nil || l.Candidate().Target == first.Target {
		t.Errorf("second attempt: %v, %v", l.Candidate(), err)
	}
}

func TestRoundRobin_PassesOverTheFull(t *testing.T) {
	p := layout{by: RoundRobin, instances: []int{1, 1, 2}, limit: 1}.pool()
	hold(p, 0, 1)
	hold(p, 2, 1)
	got := serve(t, p, 300, start)
	if got[0] != 0 || got[2] != 0 || sum(got) != 300 {
		t.Errorf("got %v", got)
	}
	hold(p, 1, 1)
	hold(p, 3, 1)
	if err := p.Pick(&Request{}, &Lease{}, start); err != ErrFull {
		t.Errorf("all full: %v", err)
	}
}

// An ejected instance's requests go to all its siblings alike, not to the one behind it.
func TestEjectedShareIsSpread(t *testing.T) {
	tests := []struct {
		name string
		layout
		out  []int
		want []int
	}{
		{"instances", layout{by: RoundRobin, instances: []int{4}}, []int{1}, []int{400, 0, 400, 400}},
		{"two instances", layout{by: RoundRobin, instances: []int{4}}, []int{1, 2}, []int{600, 0, 0, 600}},
		{"targets", layout{by: RoundRobin, instances: []int{1, 1, 1, 1}}, []int{1}, []int{400, 0, 400, 400}},
		{"own target first", layout{by: TargetWeight, weights: []int64{1, 2}, instances: []int{1, 3}}, []int{1},
			[]int{400, 0, 400, 400}},
		{"other targets by weight", layout{by: TargetWeight, weights: []int64{6, 3, 1}, instances: []int{1, 1, 2}},
			[]int{0}, []int{0, 900, 150, 150}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := test.pool()
			for _, i := range test.out {
				fail(p, i, start)
			}
			got := serve(t, p, 1200, start)
			for i := range got {
				if !within(got[i], test.want[i], 10) {
					t.Fatalf("got %v, want about %v", got, test.want)
				}
			}
		})
	}
}

// attempts lets every pick of one request fail and returns the order of the candidates.
func attempts(t *testing.T, p *Pool) (order []int) {
	t.Helper()
	r, l := &Request{}, &Lease{}
	for {
		err := p.Pick(r, l, start)
		if errors.Is(err, ErrNone) {
			return order
		}
		if err != nil {
			t.Fatal(err)
		}
		order = append(order, l.Index())
		r.Tried(l.Index())
		l.Done(Neutral, start)
	}
}

func TestRetry_SameTargetFirstThenByWeight(t *testing.T) {
	p := layout{by: TargetWeight, weights: []int64{5, 4, 1}, instances: []int{3, 1, 1}}.pool()
	second := map[int]int{}
	for range 1000 {
		order := attempts(t, p)
		all := slices.Clone(order)
		slices.Sort(all)
		if !slices.Equal(all, []int{0, 1, 2, 3, 4}) {
			t.Fatalf("not every candidate once: %v", order)
		}
		if order[0] > 2 {
			continue
		}
		if order[1] > 2 || order[2] > 2 {
			t.Fatalf("left the target before it was used up: %v", order)
		}
		second[order[3]]++
	}
	if !within(second[3], 400, 20) || !within(second[4], 100, 20) {
		t.Errorf("after the first target: %v, want 4 to 1", second)
	}
}

// The attempts after a failure don't use up other requests' turns.
func TestRetry_KeepsTheSplit(t *testing.T) {
	p := layout{by: TargetWeight, weights: []int64{7, 3}, instances: []int{2, 2}}.pool()
	firsts := 0
	for range 1000 {
		if attempts(t, p)[0] < 2 {
			firsts++
		}
	}
	if firsts != 700 {
		t.Errorf("%d of 1000 began at the weight of 7 in 10", firsts)
	}
}

func TestPick_Errors(t *testing.T) {
	closed := patient
	closed.FailOpen = false
	for _, by := range []By{TargetWeight, RoundRobin, Policy} {
		t.Run(by.String(), func(t *testing.T) {
			try := func(p *Pool, r *Request) error {
				l := &Lease{}
				err := p.Pick(r, l, start)
				if (err == nil) != l.Held() {
					t.Errorf("error %v with held %v", err, l.Held())
				}
				l.Done(Neutral, start)
				return err
			}
			y := layout{by: by, instances: []int{2}, limit: 1, votes: leastLoad, health: closed}

			if err := try(layout{by: by, votes: leastLoad}.pool(), &Request{}); err != ErrDown {
				t.Errorf("no target: %v", err)
			}
			if err := try(layout{by: by, instances: []int{0, 0}, votes: leastLoad}.pool(), &Request{}); err != ErrDown {
				t.Errorf("no instance: %v", err)
			}
			p := y.pool()
			fail(p, 0, start)
			fail(p, 1, start.Add(time.Second))
			if err := try(p, &Request{}); err != ErrDown {
				t.Errorf("all out: %v", err)
			}
			if at, ok := p.Returns(start); !ok || !at.Equal(start.Add(10*time.Second)) {
				t.Errorf("returns at %v, %v", at, ok)
			}
			y.health = patient
			p = y.pool()
			fail(p, 0, start)
			fail(p, 1, start)
			if err := try(p, &Request{}); err != nil {
				t.Errorf("all out, open: %v", err)
			}
			hold(p, 0, 1)
			hold(p, 1, 1)
			if err := try(p, &Request{}); err != ErrFull {
				t.Errorf("all out, open, and full: %v", err)
			}
			p = y.pool()
			p.candidates[0].Engine.SetDrained(true)
			p.candidates[1].Engine.SetDrained(true)
			if err := try(p, &Request{}); err != ErrDown {
				t.Errorf("drained, which no fail-open overrules: %v", err)
			}
			p = y.pool()
			r := &Request{}
			fail(p, 0, start)
			if err := try(p, r); err != nil {
				t.Fatal(err)
			}
			r.Tried(1)
			if err := try(p, r); err != ErrNone {
				t.Errorf("one out, the other tried: %v", err)
			}
			p = y.pool()
			p.candidates[0].Exempt = true
			fail(p, 0, start)
			fail(p, 1, start)
			if got := serve(t, p, 10, start); got[0] != 10 {
				t.Errorf("a provider was ejected: %v", got)
			}
			if _, ok := y.pool().Returns(start); ok {
				t.Error("an end of the ejection although none is ejected")
			}
		})
	}
}
