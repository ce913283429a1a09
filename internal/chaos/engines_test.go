package chaos

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// fleet is the engines, and what they have noticed.
type fleet struct {
	plan    *plan
	engines [engines]*sim.Engine
	sick    [engines]atomic.Int32 // what an engine does to every request; 0: as planned

	mu     sync.Mutex
	given  map[int][]int // by request: the engine of every receipt that was answered as planned, in order
	faults []string      // what must not be
	most   [engines]int  // at once
	events map[string]int
}

// What a sick engine does.
const (
	busy = 1 + iota
	resetting
	dumb
)

func startFleet(t *testing.T, p *plan) *fleet {
	t.Helper()
	f := &fleet{plan: p, given: map[int][]int{}, events: map[string]int{}}
	for k := range f.engines {
		e, err := sim.Start("127.0.0.1:0", sim.Options{Hook: func(q *sim.Request) sim.Behaviour { return f.answer(k, q) }})
		if err != nil {
			t.Fatal(err)
		}
		f.engines[k] = e
	}
	return f
}

func (f *fleet) close() {
	for _, e := range f.engines {
		e.Close()
	}
}

func (f *fleet) urls() (urls [engines]string) {
	for k, e := range f.engines {
		urls[k] = e.URL()
	}
	return urls
}

// early is what an engine says before it has read a request. It can't know whose it is.
func early(k int) string { return fmt.Sprintf("engine %d does not even listen", k) }

// mark is in every event of an answer: whose it is, which receipt of it was answered, and by whom.
func mark(number, receipt, engine int) string {
	return fmt.Sprintf("r%d-%d-%d", number, receipt, engine)
}

// answer looks at what an engine was sent and has it answered as planned.
func (f *fleet) answer(k int, got *sim.Request) sim.Behaviour {
	f.heed(k)
	number := numberOf(got.Get("X-Request-Id"))
	if number < 0 || number >= len(f.plan.requests) {
		f.fault("engine %d was sent a request that nobody made: %s %s, id %q", k, got.Method, got.Target, got.Get("X-Request-Id"))
		return sim.Behaviour{}
	}
	q := &f.plan.requests[number]
	f.check(k, q, got)

	f.mu.Lock()
	n := len(f.given[number])
	f.given[number] = append(f.given[number], k)
	f.mu.Unlock()
	t := f.plan.turn(q, n)
	f.falls(k, &t)
	b := t.Behaviour
	b.Status, b.Body = t.status, t.body(q, mark(number, n, k))
	b.Header = []sim.Field{{Name: "Content-Type", Value: "application/json"}}
	if q.stream && q.kind != retrieval && t.status == 200 {
		b.Header[0].Value = "text/event-stream"
	}
	return b
}

// falls makes a sick engine fail, whatever was planned.
func (f *fleet) falls(k int, t *turn) {
	switch f.sick[k].Load() {
	case busy:
		t.status, t.Behaviour = 503, sim.Behaviour{}
	case resetting:
		t.Behaviour = sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}}
	case dumb:
		t.Behaviour = sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}}
	}
}

// heed sees to it that an engine never has more requests than it may.
func (f *fleet) heed(k int) {
	limit := caps()[k]
	if limit == 0 {
		return
	}
	n := f.engines[k].Busy()
	if n > limit {
		f.fault("engine %d has %d requests at once, but max_inflight is %d", k, n, limit)
	}
	f.mu.Lock()
	f.most[k] = max(f.most[k], n)
	f.mu.Unlock()
}

// check compares what an engine was sent with what was asked.
func (f *fleet) check(k int, q *request, got *sim.Request) {
	if !mayServe(q.route, k) && q.kind != retrieval {
		f.fault("request %d for %s was sent to engine %d", q.number, q.route, k)
	}
	if got.Get("Authorization") != "" {
		f.fault("request %d: engine %d was told the client's key", q.number, k)
	}
	if q.kind == retrieval {
		return
	}
	want := q.body(served(k), "")
	if q.chained { // it goes on from a response that only the client knew
		want = q.body(served(k), previousOf(got.Body))
	}
	if q.kind != inference || got.Target != q.api.path || string(got.Body) != want {
		f.fault("request %d: engine %d was sent %s with %d bytes, not the %d that were asked", q.number, k, got.Target, len(got.Body), len(want))
	}
}

func previousOf(body []byte) string {
	var id string
	_, _ = fmt.Sscanf(string(body), `{"max_tokens": 9, "previous_response_id": %q`, &id) // none if it is not there
	return id
}

func (f *fleet) fault(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.faults = append(f.faults, fmt.Sprintf(format, args...))
}

func (f *fleet) happened(what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.events[what]++
}

// weather makes an engine well or unwell. No more than three of them are unwell at once, so that most requests have
// somebody who answers.
func (f *fleet) weather(r *rand.Rand) {
	unwell := 0
	for k := range f.engines {
		if f.unwell(k) {
			unwell++
		}
	}
	k := r.IntN(engines)
	if f.unwell(k) || unwell >= 3 {
		for k := range f.engines {
			if f.unwell(k) && chance(r, 600) {
				f.sick[k].Store(0)
				f.engines[k].Set(sim.Behaviour{})
			}
		}
		return
	}
	set := func(what string, b sim.Behaviour) {
		f.happened(what)
		f.engines[k].Set(b)
	}
	switch r.IntN(8) {
	case 0, 1:
		set("refuses connections", sim.Behaviour{Fault: sim.Fault{Kind: sim.Refuse}})
	case 2:
		set("resets while it is sent a request", sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetRequest, After: r.IntN(200)}})
	case 3:
		status := []int{413, 429, 503}[r.IntN(3)]
		set("answers early", sim.Behaviour{Status: status, Body: early(k), Fault: sim.Fault{Kind: sim.AnswerEarly}})
	case 4:
		set("closes idle connections at once", sim.Behaviour{CloseIdleAfter: time.Millisecond})
	case 5:
		f.happened("dies and is back at once")
		f.engines[k].Reset()
	default:
		what := busy
		if chance(r, 500) {
			what = resetting
		} else if chance(r, 300) {
			what = dumb
		}
		f.happened([]string{"is busy: 503", "resets every request", "is dumb"}[what-busy])
		f.sick[k].Store(int32(what))
	}
}

// calm makes all engines well.
func (f *fleet) calm() {
	for k, e := range f.engines {
		f.sick[k].Store(0)
		e.Set(sim.Behaviour{})
	}
}

// unwell reports whether an engine is not itself.
func (f *fleet) unwell(k int) bool {
	b := f.engines[k].Behaviour()
	return f.sick[k].Load() != 0 || b.Fault.Kind != sim.NoFault || b.CloseIdleAfter != 0
}
