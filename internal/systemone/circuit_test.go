package systemone

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestCircuit(t *testing.T) {
	start := time.Unix(1_700_000_000, 0)
	at := func(seconds float64) time.Time { return start.Add(time.Duration(seconds * float64(time.Second))) }
	c := &circuit{}
	asks := func(when float64, want bool) ticket {
		t.Helper()
		leave, ok := c.admit(at(when))
		if ok != want {
			t.Fatalf("at %v: admitted %v", when, ok)
		}
		return leave
	}
	is := func(when float64, want Circuit) {
		t.Helper()
		if got := c.state(at(when)); got != want {
			t.Fatalf("at %v: %s, want %s", when, got, want)
		}
	}
	learn := func(leave ticket, e effect, when float64, want bool) {
		t.Helper()
		if got := c.learn(leave, e, at(when)); got != want {
			t.Fatalf("at %v: switched %v", when, got)
		}
	}

	// Three in a row, neither fewer nor with a success between them; neutral ends don't count.
	late, later := asks(0, true), asks(0, true)
	for _, e := range []effect{bad, bad, good, bad, neutral, bad} {
		learn(asks(0, true), e, 0, false)
	}
	is(0, Closed)
	learn(asks(0, true), bad, 1, true)
	is(1, Open)
	// Those that were on their way end as they will.
	learn(late, bad, 5, false)
	learn(later, good, 5, false)
	asks(10.9, false)
	is(10.9, Open)
	// After the cool-down one probe, and nobody beside it.
	is(11, HalfOpen)
	probe := asks(11, true)
	asks(11, false)
	asks(99, false)
	// One that says nothing makes room for the next.
	learn(probe, neutral, 12, false)
	probe = asks(12, true)
	asks(12, false)
	// One failure is enough to be left alone for another cool-down.
	learn(probe, bad, 20, true)
	is(29.9, Open)
	asks(29.9, false)
	probe = asks(30, true)
	learn(probe, good, 31, true)
	is(31, Closed)
	// And it takes three again.
	learn(asks(31, true), bad, 31, false)
	learn(asks(31, true), bad, 31, false)
	is(31, Closed)
	learn(asks(31, true), bad, 31, true)
	is(31, Open)
}

// The same over sockets: open after three failures, one probe after the cool-down, closed by its answer.
func TestC050_ServiceThatIsDown(t *testing.T) {
	h := newHeld(t)
	var down atomic.Bool
	var asked atomic.Int32
	url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		if down.Load() {
			w.WriteHeader(503)
			return
		}
		h.asked <- ""
		<-h.release
		fmt.Fprint(w, answer)
	})
	b := newBench(t)
	down.Store(true)
	for i := range 100 {
		q, want := about(url, strconv.Itoa(i)), Failed
		if i >= threshold {
			want = CircuitOpen
		}
		b.expect(q, want)
	}
	if n := asked.Load(); n != threshold {
		t.Fatalf("asked %d times", n)
	}
	if s := b.States()[0]; s.Circuit != Open || s.Failures != threshold || !s.Until.Equal(b.clock.now().Add(coolDown)) {
		t.Fatalf("%+v", s)
	}
	// Another service is none of its business, and nor is the same one with another token.
	other := about(url, "x")
	other.Token = token("other")
	b.expect(other, Failed)

	b.clock.advance(coolDown)
	b.expect(about(url, "probe"), Failed)
	b.expect(about(url, "x"), CircuitOpen)

	b.clock.advance(coolDown)
	down.Store(false)
	ctx, leave := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = b.Ask(ctx, about(url, "probe that nobody waits for")) })
	<-h.asked
	b.expect(about(url, "x"), CircuitOpen)
	leave()
	wg.Wait()
	h.release <- struct{}{}
	until(t, "there is room for a probe", func() bool {
		b.Client.mu.Lock()
		defer b.Client.mu.Unlock()
		for _, s := range b.services.Values() {
			if s.circuit.probing {
				return false
			}
		}
		return true
	})

	probes := asked.Load()
	for range 50 {
		wg.Go(func() { _, _ = b.Ask(t.Context(), about(url, "the same")) })
	}
	<-h.asked
	for i := range 50 {
		b.expect(about(url, fmt.Sprint("another", i)), CircuitOpen)
	}
	h.release <- struct{}{}
	wg.Wait()
	if n := asked.Load() - probes; n != 1 {
		t.Errorf("%d probes", n)
	}
	h.release <- struct{}{}
	b.expect(about(url, "y"), Answered)
	b.mu.Lock()
	defer b.mu.Unlock()
	var switches []Circuit
	for _, s := range b.states {
		switches = append(switches, s.Circuit)
	}
	if fmt.Sprint(switches) != "[open open closed]" {
		t.Errorf("switched %v", switches)
	}
}
