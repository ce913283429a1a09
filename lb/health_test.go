package lb

import (
	"testing"
	"time"
)

// A history is written as one letter an event: f failed, s served, n neutral, D a failed check, U a passed one, digits
// are seconds that pass, and what is expected after a colon: u up, e ejected, p probation, d down.
func TestHealth(t *testing.T) {
	tests := []struct{ name, history string }{
		{"new", ":u"},
		{"single failures", "f:u s f:u s f f:u s f:u"},
		{"three in a row", "f f:u f:e"},
		{"neutral neither counts nor clears", "f n f n f:e"},
		{"cooldown", "fff:e 9:e 1:p"},
		{"proven", "fff 9 1 s:u f:u f:u f:e"},
		{"one failure on probation", "fff 9 1 f:e 9:e 1:p"},
		{"neutral on probation", "fff 9 1 n:p"},
		{"failures don't prolong", "fff 5 f f f:e 5:p"},
		{"success of a fail-open request", "fff 5 s:u f f:u f:e"},
		{"check fails", "D:d 9 9:d s:d f:d"},
		{"check passes", "D U:p s:u"},
		{"check passes, then a failure", "D U:p f:e"},
		{"a passed check is no proof of serving", "fff U:e 9 1 U:p"},
		{"check fails during an ejection", "fff D:d 9 9:d U:p"},
		{"check passes when up", "U:u f f U:u f:e"},
		{"check fails on probation", "fff 9 1 D:d"},
	}
	letters := map[Status]rune{Up: 'u', Ejected: 'e', Probation: 'p', Down: 'd'}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var h *health
			now := start
			expect := false
			for at, event := range test.history {
				switch {
				case expect:
					if got := letters[h.status(now)]; got != event {
						t.Fatalf("%s: at %d got %c", test.history, at, got)
					}
					expect = false
				case event == ':':
					expect = true
				case event == 'f':
					h = h.after(Failed, h.age(), now, patient)
				case event == 's':
					h = h.after(Served, h.age(), now, patient)
				case event == 'n':
					h = h.after(Neutral, h.age(), now, patient)
				case event == 'D':
					h = h.failedCheck()
				case event == 'U':
					h = h.passedCheck(now)
				case event >= '0' && event <= '9':
					now = now.Add(time.Duration(event-'0') * time.Second)
				}
			}
		})
	}
}

func TestHealth_NeverEjectsWithoutThreshold(t *testing.T) {
	var h *health
	for range 100 {
		h = h.after(Failed, h.age(), start, HealthPolicy{})
	}
	if h.status(start) != Up {
		t.Error("ejected")
	}
}

// What began before an ejection says nothing about the time after it.
func TestHealth_OldRequestsAreNoEvidence(t *testing.T) {
	p := layout{by: RoundRobin, instances: []int{1}}.pool()
	e := p.candidates[0].Engine
	var old []*Lease
	for range 9 {
		old = append(old, pick(t, p, start))
	}
	for i, l := range old[:3] {
		if ejected := l.Done(Failed, start); ejected != (i == 2) {
			t.Fatalf("failure %d: ejected %v", i+1, ejected)
		}
	}
	old[3].Done(Served, start)
	if s := e.Health(start); s.Status != Ejected || !s.Until.Equal(start.Add(10*time.Second)) {
		t.Errorf("an old success ended the ejection: %v", s)
	}
	later := start.Add(11 * time.Second)
	old[4].Done(Failed, later)
	if s := e.Health(later); s.Status != Probation {
		t.Errorf("an old failure on probation: %v", s)
	}
	pick(t, p, later).Done(Served, later)
	for _, l := range old[5:] {
		l.Done(Failed, later)
	}
	if s := e.Health(later); s.Status != Up {
		t.Errorf("old failures after the return: %v", s)
	}
	if e.Inflight() != 0 || e.probes.Load() != 0 {
		t.Errorf("%d in flight, %d probes", e.Inflight(), e.probes.Load())
	}
}

func TestC114_OutAfterThresholdOneProbeBackAfterSuccess(t *testing.T) {
	for _, by := range []By{RoundRobin, TargetWeight, Policy} {
		t.Run(by.String(), func(t *testing.T) {
			p := layout{by: by, instances: []int{2}, votes: leastLoad}.pool()
			a := p.candidates[0].Engine
			finish := func(i int, o Outcome) {
				for n := 0; ; n++ {
					l := pick(t, p, start)
					if l.Index() == i {
						l.Done(o, start)
						return
					}
					l.Done(Served, start)
				}
			}
			for n := range 60 { // 1 failure in 20
				o := Served
				if n%20 == 0 {
					o = Failed
				}
				finish(0, o)
			}
			if s := a.Health(start); s.Status != Up {
				t.Fatalf("single failures: %v", s.Status)
			}
			finish(0, Served)
			for range 3 {
				finish(0, Failed)
			}
			if got := serve(t, p, 20, start); got[0] != 0 {
				t.Fatalf("ejected, and still chosen: %v", got)
			}

			back := start.Add(10 * time.Second)
			hold(p, 1, 50) // so that load alone would send everything to the one that returns
			probes := 0
			var held []*Lease
			for range 20 {
				l := pick(t, p, back.Add(5*time.Second))
				if l.Index() == 0 {
					probes++
				}
				held = append(held, l)
			}
			if probes != 1 {
				t.Fatalf("%d probes at a time", probes)
			}
			for _, l := range held {
				l.Done(Served, back.Add(6*time.Second))
			}
			if s := a.Health(back.Add(6 * time.Second)); s.Status != Up {
				t.Fatalf("after a success: %v", s.Status)
			}
			if got := serve(t, p, 20, back.Add(6*time.Second)); got[0] == 0 {
				t.Errorf("back, and not chosen: %v", got)
			}
			if a.probes.Load() != 0 {
				t.Errorf("%d probes left", a.probes.Load())
			}
		})
	}
}

// One at a time protects the engine that returns, and must not cost a request when there is no other.
func TestProbation_LastResort(t *testing.T) {
	for _, by := range []By{RoundRobin, TargetWeight, Policy} {
		t.Run(by.String(), func(t *testing.T) {
			closed := patient
			closed.FailOpen = false
			p := layout{by: by, instances: []int{2}, votes: leastLoad, limit: 10, health: closed}.pool()
			fail(p, 0, start)
			now := start.Add(11 * time.Second)
			hold(p, 1, 10) // the healthy one is full
			for range 10 {
				if l := pick(t, p, now); l.Index() != 0 {
					t.Fatal("a full instance was chosen")
				}
			}
			if err := p.Pick(&Request{}, &Lease{}, now); err != ErrFull {
				t.Errorf("all full: %v", err)
			}
		})
	}
}

// A long answer must not keep an engine on one request: when the ramp is over it takes its part again.
func TestProbation_LongProbe(t *testing.T) {
	p := layout{by: RoundRobin, instances: []int{2}}.pool()
	fail(p, 0, start)
	now := start.Add(10 * time.Second)
	probe := pick(t, p, now)
	for probe.Index() != 0 {
		probe = pick(t, p, now)
	}
	if got := serve(t, p, 20, now.Add(9*time.Second)); got[0] != 0 {
		t.Errorf("during the ramp: %v", got)
	}
	l := pick(t, p, now.Add(10*time.Second))
	for l.Index() != 0 {
		l = pick(t, p, now.Add(10*time.Second))
	}
	if !l.Done(Failed, now.Add(10*time.Second)) {
		t.Error("a failure on probation did not eject")
	}
	probe.Done(Neutral, now)
}

// The penalty begins at one more than the busiest has and is gone at the end of the ramp, whether the engine has
// proven itself or not.
func TestPenalty(t *testing.T) {
	p := layout{by: Policy, instances: []int{2}, votes: leastLoad}.pool()
	hold(p, 1, 9)
	fail(p, 0, start)
	back := start.Add(10 * time.Second)
	tests := []struct {
		after time.Duration
		want  float64
	}{{0, 10}, {2500 * time.Millisecond, 7.5}, {5 * time.Second, 5}, {9 * time.Second, 1}, {10 * time.Second, 0},
		{time.Hour, 0}}
	check := func(when string) {
		for _, test := range tests {
			report := p.Explain(&Request{}, back.Add(test.after))
			if got := report.Candidates[0].Penalty; got < test.want-1e-9 || got > test.want+1e-9 {
				t.Errorf("%s, %v after the cool-down: penalty %v, want %v", when, test.after, got, test.want)
			}
			if report.Candidates[1].Penalty != 0 {
				t.Errorf("%s: the other one is punished", when)
			}
		}
	}
	check("on probation")
	p.candidates[0].Engine.learn(Served, p.candidates[0].Engine.health.Load().age(), back, patient)
	check("proven")
}

func TestC042_FastFailuresAttractNoTraffic(t *testing.T) {
	p := layout{by: Policy, instances: []int{2}, votes: leastLoad}.pool()
	// A fails in 1 ms, B serves in 200 ms; 8 clients, a step is 1 ms.
	type client struct {
		lease Lease
		until int
	}
	clients := make([]client, 8)
	failures, served := 0, 0
	for step := 0; served < 200; step++ {
		now := start.Add(time.Duration(step) * time.Millisecond)
		for i := range clients {
			c := &clients[i]
			if c.lease.Held() && step < c.until {
				continue
			}
			if c.lease.Held() {
				o := Served
				if c.lease.Index() == 0 {
					o = Failed
					failures++
				} else {
					served++
				}
				c.lease.Done(o, now)
			}
			if err := p.Pick(&Request{}, &c.lease, now); err != nil {
				t.Fatal(err)
			}
			if c.until = step + 200; c.lease.Index() == 0 {
				c.until = step + 1
			}
		}
		if step > 9000 {
			break
		}
	}
	// Up to eight may be under way when the third failure comes in.
	if failures > patient.Threshold+8 {
		t.Errorf("%d failures within one cool-down, %d served", failures, served)
	}
}

func TestC112_FailOpenUntilTheFirstSuccess(t *testing.T) {
	for _, by := range []By{RoundRobin, TargetWeight, Policy} {
		t.Run(by.String(), func(t *testing.T) {
			p := layout{by: by, instances: []int{3}, votes: leastLoad}.pool()
			for i := range 3 {
				fail(p, i, start)
			}
			now := start.Add(2 * time.Second)
			l := pick(t, p, now)
			l.Done(Served, now)
			if got := serve(t, p, 10, now); got[l.Index()] != 10 {
				t.Errorf("after the success of %d: %v", l.Index(), got)
			}
		})
	}
}
