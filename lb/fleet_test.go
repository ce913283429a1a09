package lb

import (
	"runtime"
	"slices"
	"testing"
)

func urls(es []*Engine) (us []string) {
	for _, e := range es {
		us = append(us, e.URL())
	}
	return us
}

func engines(p *Pool) (es []*Engine) {
	for _, c := range p.Candidates() {
		es = append(es, c.Engine)
	}
	return es
}

func TestFleet_RemembersWhatServes(t *testing.T) {
	f := NewFleet(dice(1))
	a, b := f.Engine("http://a"), f.Engine("http://b")
	if f.Engine("http://a") == a {
		t.Error("an engine of a configuration that never served is known")
	}
	f.Adopt([]*Engine{a, b})
	if f.Engine("http://a") != a || f.Engine("http://b") != b {
		t.Error("an adopted engine is not known")
	}

	b.enter(0)
	f.Adopt([]*Engine{a})
	if got := urls(f.Engines()); !slices.Equal(got, []string{"http://a", "http://b"}) {
		t.Errorf("while a removed engine has requests: %v", got)
	}
	if f.Engine("http://b") != b {
		t.Error("an engine that comes back while it has requests lost their count")
	}
	b.inflight.Add(-1)
	if got := urls(f.Engines()); !slices.Equal(got, []string{"http://a"}) {
		t.Errorf("once it is idle: %v", got)
	}
	b.Down()
	f.Adopt([]*Engine{a, f.Engine("http://b")})
	if e := f.Engine("http://b"); e.Health(start).Status != Up {
		t.Error("a removed, idle engine came back with its past")
	}
	f.Adopt([]*Engine{a})
	if len(f.engines) != 1 {
		t.Errorf("%d engines kept", len(f.engines))
	}
	b = nil // so that nobody can choose it any more
	_ = b
	runtime.GC()
	f.Adopt([]*Engine{a})
	if len(f.left) != 0 {
		t.Errorf("%d engines known that nobody can choose", len(f.left))
	}
}

// A request may wait in a queue, or at an instance that fails late, while its instance is taken out of the file and put
// back. Where it then goes, it is counted with the others.
func TestFleet_OneCountForAnEngineThatComesBack(t *testing.T) {
	f := NewFleet(dice(1))
	y := layout{by: RoundRobin, instances: []int{1}, limit: 1, fleet: f}
	old := y.pool()
	f.Adopt(engines(old))
	f.Adopt(nil)
	back := y.pool()
	f.Adopt(engines(back))
	pick(t, old, start)
	var l Lease
	if err := back.Pick(&Request{}, &l, start); err != ErrFull {
		t.Errorf("one more than max_inflight: %v", err)
	}
	if es := f.Engines(); len(es) != 1 || es[0].Inflight() != 1 {
		t.Errorf("%d engines, %d in flight", len(es), es[0].Inflight())
	}
}

func TestC045_ReloadKeepsCountsHealthAndRotation(t *testing.T) {
	f := NewFleet(dice(1))
	y := layout{by: Policy, instances: []int{3}, votes: leastLoad, fleet: f}
	p := y.pool()
	f.Adopt(engines(p), "r")
	hold(p, 0, 50)
	for range 40 {
		p = y.pool()
		f.Adopt(engines(p), "r")
		if l := pick(t, p, start); l.Index() == 0 {
			t.Fatal("a reload forgot the long streams")
		}
	}
	fail(p, 1, start)
	if s := y.pool().candidates[1].Engine.Health(start); s.Status != Ejected {
		t.Errorf("after a reload: %v", s.Status)
	}

	y = layout{by: TargetWeight, weights: []int64{7, 3}, instances: []int{1, 1}, fleet: f}
	var got []int
	for range 50 {
		p := y.pool()
		l := pick(t, p, start)
		got = append(got, l.Index())
		l.Done(Served, start)
		f.Adopt(engines(p), "r")
	}
	for from := range len(got) - 10 {
		if n := sum(got[from : from+10]); n != 3 {
			t.Fatalf("with a reload after every request: %d of 10", n)
		}
	}
	f.Adopt(nil, "another")
	if len(f.rotors) != 0 {
		t.Errorf("%d positions of a removed route kept", len(f.rotors))
	}
}

// Several gateways, or a gateway that restarts, don't all begin with the first.
func TestFleet_RotationStartsAtRandom(t *testing.T) {
	first := make([]int, 4)
	for seed := range 400 {
		p := layout{by: RoundRobin, instances: []int{2, 2}, seed: uint64(seed)}.pool()
		first[pick(t, p, start).Index()]++
	}
	for i, n := range first {
		if !within(n, 100, 40) {
			t.Errorf("candidate %d is first %d times in 400", i, n)
		}
	}
}

func TestCandidateKey(t *testing.T) {
	seen := map[uint64]string{}
	for _, c := range [][2]string{{"", ""}, {"a", ""}, {"", "a"}, {"a", "bc"}, {"ab", "c"}, {"abc", ""}, {"", "abc"},
		{"a\x00", "b"}, {"a", "\x00b"}} {
		k := CandidateKey(c[0], c[1])
		if other, ok := seen[k]; ok {
			t.Errorf("%q and %s have one key", c, other)
		}
		seen[k] = c[0] + "+" + c[1]
	}
	// Other releases must come to the same, or every session loses its cache on an upgrade.
	if got := CandidateKey("model/qwen3-0.6b", "qwen3-0.6b-1"); got != 0x122940af42083b5a {
		t.Errorf("got %#x", got)
	}
}
