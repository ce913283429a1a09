package fleetsim

import (
	"math"
	"testing"
	"time"
)

// bare is a scenario with nothing at work: one instance of round speeds, and no spread.
func bare() *Scenario {
	s := Default()
	s.WarmUp, s.Measure, s.Repeat, s.Spread = 0, time.Minute, 1, 0
	s.Instances = []int{1}
	s.Engine = Engine{Prefill: 1000, Decode: 100, DecodeFull: 50, Slots: 2, ChunkTokens: 500, CacheTokens: 1_000_000}
	s.Agents.PerInstance, s.Chat.PerInstance = 0, 0
	return &s
}

// heard is a client that writes down what it is told.
type heard struct{ last map[uint64]float64 }

func (h *heard) answered(r *request, now float64) { h.last[r.number] = now }

// at lets requests arrive at given times and returns when each had its first and its last token.
func at(t *testing.T, s *Scenario, arrivals []float64, prompt, answer int) (first, last []float64) {
	t.Helper()
	r := newRun(s, &Point{Instances: 1, Load: 1, Gateways: 1, Share: ShareNothing, Strategy: Strategy{By: "round_robin"}}, 1)
	h := &heard{last: map[uint64]float64{}}
	var numbers []uint64
	for i, when := range arrivals {
		q := r.request()
		numbers = append(numbers, q.number)
		q.client, q.answer, q.last = h, answer, -1
		q.prompt = promptOf(uint64(i)+1, prompt)
		r.calendar.set(&arrival{run: r, request: q}, when)
	}
	if err := r.goOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, w := range r.waits {
		first = append(first, float64(w))
	}
	for _, n := range numbers {
		last = append(last, h.last[n])
	}
	return first, last
}

func promptOf(own uint64, tokens int) prompt { return prompt{own: own, ownTokens: tokens} }

// arrival is one request on its way.
type arrival struct {
	appointment
	run     *run
	request *request
}

func (a *arrival) at() *appointment { return &a.appointment }

func (a *arrival) act(now float64) { a.run.arrive(a.request, a.run.gateways[0], now) }

func near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4 {
		t.Errorf("%s: %v, not %v", what, got, want)
	}
}

// Without anybody else, the first token comes when the prompt has been read, and the others one a step.
func TestEngineAlone(t *testing.T) {
	first, last := at(t, bare(), []float64{1}, 2000, 51)
	near(t, "first token", first[0], 2)
	near(t, "last token", last[0], 1+2+50*0.01)
}

// One that arrives while another writes makes it slower, and is read more slowly itself.
func TestEngineShares(t *testing.T) {
	s := bare()
	// The first is read from 0 to 1 and writes alone until 2, which is 100 tokens. Then each step is 10 ms longer by the
	// 500 ms of a chunk: 1000 tokens of the second prompt take two of them.
	first, last := at(t, s, []float64{0, 2}, 1000, 201)
	near(t, "first token of the first", first[0], 1)
	near(t, "first token of the second", first[1], 1.02)
	// Both write: 20 ms a step. The first has 98 tokens to go, the second 102 more, alone, at 10 ms.
	near(t, "last token of the first", last[0], 3.02+98*0.02)
	near(t, "last token of the second", last[1], 3.02+98*0.02+102*0.01)
}

// Prompts are read one after the other, and beyond the slots requests wait.
func TestEngineQueues(t *testing.T) {
	s := bare()
	first, _ := at(t, s, []float64{0, 0, 0}, 1000, 1)
	near(t, "first", first[0], 1)
	near(t, "second", first[1], 2)
	near(t, "third", first[2], 3)

	s.Engine.Slots, s.Engine.DecodeFull = 1, 100
	first, last := at(t, s, []float64{0, 0}, 1000, 101)
	near(t, "end of the first", last[0], 2)
	near(t, "the second, which had no slot before", first[1], 3)
}

func TestEngineOfAKind(t *testing.T) {
	s := bare()
	s.Kinds[0].Speed = 2
	first, last := at(t, s, []float64{0}, 2000, 51)
	near(t, "first token", first[0], 1)
	near(t, "last token", last[0], 1.25)
}

// A prompt read from the cache costs its last token only.
func TestCache(t *testing.T) {
	c := newCache(100)
	c.put(1, 60)
	c.put(2, 30)
	if c.has(1) != 60 || c.has(2) != 30 || c.has(3) != 0 {
		t.Errorf("has %d, %d, %d", c.has(1), c.has(2), c.has(3))
	}
	c.put(2, 20) // which is not less
	c.put(3, 40) // 30 too many: the oldest loses them
	if c.has(1) != 30 || c.has(2) != 30 || c.has(3) != 40 || c.used != 100 {
		t.Errorf("has %d, %d, %d of %d", c.has(1), c.has(2), c.has(3), c.used)
	}
	c.put(1, 10) // is used again
	c.put(4, 50)
	if c.has(1) != 30 || c.has(2) != 0 || c.has(3) != 20 || c.has(4) != 50 {
		t.Errorf("has %d, %d, %d, %d", c.has(1), c.has(2), c.has(3), c.has(4))
	}
	c.put(5, 1000) // more than there is room for
	if c.has(5) != 100 || c.used != 100 {
		t.Errorf("has %d of %d", c.has(5), c.used)
	}
	if c = newCache(0); c.has(1) != 0 {
		t.Error("an empty cache has something")
	}
	c.put(1, 5)
	if c.has(1) != 0 || c.used != 0 {
		t.Error("a cache without room has something")
	}

	p := prompt{common: 9, commonTokens: 10, own: 1, ownTokens: 20}
	c = newCache(1000)
	if p.cached(c) != 0 {
		t.Error("something is cached before it was read")
	}
	p.put(c, 0)
	if p.cached(c) != 29 {
		t.Errorf("%d tokens of 30 are cached", p.cached(c))
	}
	if longer := (prompt{common: 9, commonTokens: 10, own: 1, ownTokens: 50}); longer.cached(c) != 30 {
		t.Errorf("%d tokens of the next turn are cached", longer.cached(c))
	}
	if other := (prompt{common: 9, commonTokens: 10, own: 2, ownTokens: 50}); other.cached(c) != 10 {
		t.Errorf("%d tokens of another session are cached", other.cached(c))
	}
}

// A single server with a constant service time and Poisson arrivals (M/D/1) has a mean wait of rho s / (2 (1 - rho)), by the
// formula of F. Pollaczek and A. Khinchine.
func TestEngineIsMD1(t *testing.T) {
	s := bare()
	s.Measure = 20 * time.Hour
	s.Chat = Chat{PerInstance: 0.7, PromptTokens: 1000, AnswerTokens: 1}
	s.Engine.Slots, s.Engine.DecodeFull = 1000, 1
	r := newRun(s, &Point{Instances: 1, Load: 1, Gateways: 1, Share: ShareNothing, Strategy: Strategy{By: "round_robin"}}, 1)
	if err := r.goOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	var sum float64
	for _, w := range r.waits {
		sum += float64(w)
	}
	mean, want := sum/float64(len(r.waits)), 1+0.7/(2*0.3)
	if math.Abs(mean-want) > 0.05*want {
		t.Errorf("mean time to first token %v, not %v", mean, want)
	}
}
