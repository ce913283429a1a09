package lb

import (
	"sync"
	"sync/atomic"
	"testing"
)

// full returns a pool of one instance with a limit, and leases that fill it.
func full(t *testing.T, limit int64) (*Fleet, *Pool, []*Lease) {
	t.Helper()
	f := NewFleet(dice(1))
	p := NewPool(Config{Route: "r", By: RoundRobin, Targets: []Target{{Name: "m"}}, Fleet: f, Rand: dice(2),
		Candidates: []Candidate{{Instance: "a", Key: CandidateKey("m", "a"), Limit: limit, Engine: f.Engine("http://a")}}})
	var held []*Lease
	for range limit {
		l := &Lease{}
		if err := p.Pick(&Request{}, l, start); err != nil {
			t.Fatal(err)
		}
		held = append(held, l)
	}
	return f, p, held
}

// Test that who waits is served in the order of arrival, and only as places become free.
func TestQueueIsFirstComeFirstServed(t *testing.T) {
	f, p, held := full(t, 1)
	q := f.Queue("r")
	var tickets []*Ticket
	for range 3 {
		ticket := q.Join(p, 3)
		if ticket == nil {
			t.Fatal("no room in the line")
		}
		tickets = append(tickets, ticket)
	}
	if q.Join(p, 3) != nil {
		t.Error("the line takes more than its bound")
	}
	<-tickets[0].Turn() // whoever comes to the head tries once, since a place may have become free meanwhile
	var l Lease
	if err := p.Pick(&Request{}, &l, start); err != ErrFull {
		t.Fatalf("err = %v", err)
	}
	for i, ticket := range tickets {
		select {
		case <-ticket.Turn():
			t.Fatalf("ticket %d has a turn while the instance is full", i)
		default:
		}
	}
	last := held[0]
	for i, ticket := range tickets {
		last.Done(Served, start)
		<-ticket.Turn()
		next := &Lease{}
		if err := p.Pick(&Request{}, next, start); err != nil {
			t.Fatalf("ticket %d: %v", i, err)
		}
		ticket.Leave()
		ticket.Leave()
		last = next
		if got := q.Len(); got != len(tickets)-1-i {
			t.Errorf("%d wait", got)
		}
		if i+1 < len(tickets) {
			<-tickets[i+1].Turn() // the next one looks whether there is room for it as well
		}
	}
	last.Done(Served, start)
	if n := p.candidates[0].Engine.waiters.Load(); n != 0 {
		t.Errorf("the engine knows of %d waiters when nobody waits", n)
	}
}

// Test that nobody waits for ever: with many who wait and leave at once, each is served and the limit holds.
func TestQueueLosesNobody(t *testing.T) {
	f, p, held := full(t, 2)
	q := f.Queue("r")
	var running, most atomic.Int64
	var wg sync.WaitGroup
	for range 200 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			ticket := q.Join(p, 1000)
			defer ticket.Leave()
			var l Lease
			for {
				<-ticket.Turn()
				if p.Pick(&Request{}, &l, start) == nil {
					break
				}
			}
			ticket.Leave()
			if n := running.Add(1); n > 2 {
				most.Store(n)
			}
			running.Add(-1)
			l.Done(Served, start)
		}()
	}
	for _, l := range held {
		l.Done(Served, start)
	}
	wg.Wait()
	if most.Load() > 2 {
		t.Errorf("%d ran at once", most.Load())
	}
	if q.Len() != 0 {
		t.Errorf("%d still wait", q.Len())
	}
}

// Test that a reload keeps the line of a route, and that a drained engine's return is a turn.
func TestQueueOutlivesReloads(t *testing.T) {
	f, p, held := full(t, 1)
	q := f.Queue("r")
	ticket := q.Join(p, 1)
	defer ticket.Leave()
	<-ticket.Turn()
	f.Adopt([]*Engine{p.candidates[0].Engine}, "r")
	if f.Queue("r") != q {
		t.Error("a reload lost the line")
	}
	f.Adopt(nil)
	if f.Queue("r") != q {
		t.Error("the line of a removed route was lost while somebody waits in it")
	}
	p.candidates[0].Engine.SetDrained(true)
	<-ticket.Turn()
	p.candidates[0].Engine.SetDrained(false)
	<-ticket.Turn()
	held[0].Done(Served, start)
}

func TestKeepTo(t *testing.T) {
	f := NewFleet(dice(1))
	c := Config{Route: "r", By: Policy, Targets: []Target{{Name: "m"}}, Fleet: f, Rand: dice(2), Votes: []Weighted{{Name: "load", Weight: 1, Voter: byLoad{}}}}
	for _, name := range []string{"a", "b", "c"} {
		c.Candidates = append(c.Candidates, Candidate{Instance: name, Key: CandidateKey("m", name), Limit: 2, Engine: f.Engine("http://" + name)})
	}
	p := NewPool(c)
	r := &Request{}
	pick := func() (string, error) {
		l := &Lease{}
		err := p.Pick(r, l, start)
		if err != nil {
			return "", err
		}
		return l.Candidate().Instance, nil
	}
	r.KeepTo(CandidateKey("m", "b"))
	if e := p.Explain(r, start); e.Pick != 1 || e.Candidates[1].InFlight != 0 || len(e.Rest) != 2 {
		t.Errorf("Explain: %+v", e)
	}
	for range 2 {
		if got, err := pick(); got != "b" || err != nil {
			t.Errorf("picked %q, %v", got, err)
		}
	}
	if _, err := pick(); err != ErrFull {
		t.Errorf("the kept candidate is full: %v", err)
	}
	r.Tried(1)
	if got, err := pick(); got == "b" || err != nil {
		t.Errorf("picked %q, %v, after b was tried", got, err)
	}
	r.Reset()
	r.KeepTo(CandidateKey("m", "gone"))
	if got, err := pick(); got == "b" || err != nil {
		t.Errorf("picked %q, %v, with a candidate to keep to that is not there", got, err)
	}
	r.Reset()
	p.candidates[1].Engine.Down()
	r.KeepTo(CandidateKey("m", "b"))
	if got, err := pick(); got == "b" || err != nil {
		t.Errorf("picked %q, %v, with a candidate to keep to that is down", got, err)
	}
}
