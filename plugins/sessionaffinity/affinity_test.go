package sessionaffinity

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func dice(seed uint64) lb.Rand {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(seed, 1))
	return func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Uint64()
	}
}

// world is what outlives reloads.
type world struct {
	t      testing.TB
	memory *memory
	fleet  *lb.Fleet
	now    time.Time
}

func newWorld(t testing.TB) *world {
	return &world{t: t, memory: newMemory(capacity), fleet: lb.NewFleet(dice(7)), now: start}
}

var patient = lb.HealthPolicy{Threshold: 3, Cooldown: 10 * time.Second, Ramp: 10 * time.Second, FailOpen: true}

// load is a route's pool with the given instances of the given models ("model/instance"), as a reload builds it.
func (w *world) load(votes []lb.Weighted, names ...string) *lb.Pool {
	c := lb.Config{Route: "r", By: lb.Policy, Votes: votes, Fleet: w.fleet, Rand: dice(8), Health: patient}
	targets := map[string]int{}
	var engines []*lb.Engine
	for _, name := range names {
		model, instance, _ := strings.Cut(name, "/")
		if _, ok := targets[model]; !ok {
			targets[model] = len(c.Targets)
			c.Targets = append(c.Targets, lb.Target{Name: model})
		}
		e := w.fleet.Engine("http://" + name)
		engines = append(engines, e)
		c.Candidates = append(c.Candidates, lb.Candidate{Target: targets[model], Instance: instance, Model: model,
			Key: lb.CandidateKey(model, instance), Engine: e})
	}
	p := lb.NewPool(c)
	w.fleet.Adopt(engines, "r")
	return p
}

func (w *world) affinity(weight float64) lb.Weighted {
	return lb.Weighted{Name: Name, Weight: weight, Voter: &voter{sources: defaultKeys, memory: w.memory}}
}

func leastInflight(weight float64) lb.Weighted {
	return lb.Weighted{Name: leastinflight.Name, Weight: weight, Voter: leastinflight.Voter{}}
}

func of(session string) *lb.Request { return &lb.Request{Header: headers{"session-id": session}} }

// serve lets a request of the session be served and returns by which instance.
func (w *world) serve(p *lb.Pool, session string) string {
	w.t.Helper()
	var l lb.Lease
	if err := p.Pick(of(session), &l, w.now); err != nil {
		w.t.Fatal(err)
	}
	l.Done(lb.Served, w.now)
	return l.Candidate().Instance
}

// would tells which instance the next request of the session would get, and changes nothing.
func (w *world) would(p *lb.Pool, session string) string {
	report := p.Explain(of(session), w.now)
	return report.Candidates[report.Pick].Instance
}

// busy holds n places at an instance until the returned function is called.
func (w *world) busy(p *lb.Pool, instance string, n int) (free func()) {
	one := lb.Config{Route: "filler", By: lb.RoundRobin, Targets: []lb.Target{{}}, Fleet: lb.NewFleet(dice(1)), Rand: dice(1)}
	for _, c := range p.Candidates() {
		if c.Instance == instance {
			c.Target = 0
			one.Candidates = []lb.Candidate{c}
		}
	}
	leases := make([]lb.Lease, n)
	filler := lb.NewPool(one)
	for i := range leases {
		if err := filler.Pick(&lb.Request{}, &leases[i], w.now); err != nil {
			w.t.Fatal(err)
		}
	}
	return func() {
		for i := range leases {
			leases[i].Done(lb.Served, w.now)
		}
	}
}

func numbered(n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprintf("qwen3/qwen3-%d", i+1))
	}
	return names
}

// The table of the specification: one session, its owner with x requests in flight, all others idle, weights 1 and 1.
func TestC040_HoldTieFlip(t *testing.T) {
	table := map[int][]string{
		2: {"hold", "tie", "flip", "flip", "flip"},
		3: {"hold", "hold", "tie", "flip", "flip"},
		4: {"hold", "hold", "hold", "hold", "hold", "", "flip"},
		5: {"hold", "hold", "hold", "hold", "hold"},
		6: {"hold", "hold", "hold", "hold", "hold"},
		8: {"hold", "hold", "hold", "hold", "hold"},
	}
	const draws = 2000
	for n, row := range table {
		for x, want := range row {
			if want == "" {
				continue
			}
			w := newWorld(t)
			p := w.load([]lb.Weighted{w.affinity(1), leastInflight(1)}, numbered(n)...)
			owner := w.would(p, "s")
			free := w.busy(p, owner, x)
			stayed := 0
			for range draws {
				// Each draw is of a fresh memory: a session that moved would stay moved.
				w.memory = newMemory(shards)
				votes := p.Votes()
				votes[0].Voter.(*voter).memory = w.memory
				if w.serve(p, "s") == owner {
					stayed++
				}
			}
			free()
			ok := false
			switch want {
			case "hold":
				ok = stayed == draws
			case "flip":
				ok = stayed == 0
			case "tie": // of the owner and the second in rank, five standard deviations
				ok = math.Abs(float64(stayed)-draws/2) < 5*math.Sqrt(draws/4)
			}
			if !ok {
				t.Errorf("N=%d x=%d: stayed %d of %d, want %s", n, x, stayed, draws, want)
			}
			if got := lb.Shifts([]lb.Weighted{w.affinity(1), leastInflight(1)}, of("s"), n, x)[x].String(); got != want {
				t.Errorf("N=%d x=%d: the table says %s, want %s", n, x, got, want)
			}
		}
	}
}

// The smallest count that moves a session, by the weights of load and affinity. 0 is never.
func TestC040_SmallestCountThatMoves(t *testing.T) {
	table := []struct {
		load float64
		want []int // for 2 to 8 candidates
	}{
		{1, []int{2, 3, 6, 0, 0, 0, 0}},
		{1.5, []int{1, 1, 2, 3, 7, 0, 0}},
		{2, []int{1, 1, 1, 2, 3, 4, 9}},
	}
	for _, row := range table {
		for i, want := range row.want {
			n := i + 2
			w := newWorld(t)
			votes := []lb.Weighted{w.affinity(1), leastInflight(row.load)}
			p := w.load(votes, numbered(n)...)
			owner := w.would(p, "s")
			most := want
			if want == 0 {
				most = 2000
			}
			for x := most; x >= 0; x-- {
				if want == 0 && x%97 != 0 && x > 20 {
					continue
				}
				free := w.busy(p, owner, x)
				report := p.Explain(of("s"), w.now)
				free()
				moved := report.Candidates[report.Pick].Instance != owner
				if moved != (want > 0 && x >= want) {
					t.Errorf("%v:1, N=%d: with %d in flight moved is %v, want from %d on", row.load, n, x, moved, want)
				}
			}
			for _, votes := range [][]lb.Weighted{votes, {{Name: Name, Weight: 1, Voter: Sample{}}, votes[1]}} {
				if x, ok := lb.FirstFlip(votes, of("s"), n, 2000); x != want || ok != (want > 0) {
					t.Errorf("%v:1, N=%d: the table says %d, %v, want %d", row.load, n, x, ok, want)
				}
			}
		}
	}
}

func TestDistribution(t *testing.T) {
	const keys, n = 20_000, 16
	w := newWorld(t)
	p := w.load([]lb.Weighted{w.affinity(1)}, numbered(n)...)
	got := map[string]int{}
	for i := range keys {
		got[w.serve(p, fmt.Sprintf("session-%d", i))]++
	}
	for _, c := range p.Candidates() {
		if even := keys / n; math.Abs(float64(got[c.Instance]-even)) > .08*float64(even) {
			t.Errorf("%s has %d sessions, even is %d", c.Instance, got[c.Instance], even)
		}
	}
	if w.memory.len() != 0 {
		t.Errorf("%d sessions remembered though none moved", w.memory.len())
	}
}

func TestC043_OneLeavesAndReturns(t *testing.T) {
	const keys = 1000
	w := newWorld(t)
	load := func(names ...string) *lb.Pool { return w.load([]lb.Weighted{w.affinity(1)}, names...) }
	four := numbered(4)
	p := load(four...)
	before := make([]string, keys)
	for i := range before {
		before[i] = w.serve(p, strconv.Itoa(i))
	}

	p = load(four[0], four[1], four[3])
	during := make([]string, keys)
	moved := 0
	for i := range before {
		if i%2 == 0 {
			during[i] = w.serve(p, strconv.Itoa(i))
		} else {
			during[i] = w.would(p, strconv.Itoa(i))
		}
		if during[i] != before[i] {
			moved++
			if before[i] != "qwen3-3" {
				t.Fatalf("session %d moved from %s, which stayed", i, before[i])
			}
		}
	}
	if moved < keys/4-60 || moved > keys/4+60 {
		t.Errorf("%d of %d sessions moved", moved, keys)
	}

	w.now = w.now.Add(10 * time.Minute)
	p = load(four...)
	for i := range before {
		want := before[i]
		if i%2 == 0 {
			want = during[i] // served meanwhile: its cache is there now
		}
		if got := w.serve(p, strconv.Itoa(i)); got != want {
			t.Fatalf("session %d is on %s, want %s (before %s, meanwhile %s)", i, got, want, before[i], during[i])
		}
	}
}

// The same for an instance that is out for its failures, or drained.
func TestC043_OneIsOutAndReturns(t *testing.T) {
	for _, how := range []string{"ejected", "drained"} {
		w := newWorld(t)
		p := w.load([]lb.Weighted{w.affinity(1)}, numbered(4)...)
		owner, other := w.serve(p, "served"), ""
		for i := 0; other == ""; i++ {
			if s := strconv.Itoa(i); w.serve(p, s) == owner {
				other = s
			}
		}
		var e *lb.Engine
		for _, c := range p.Candidates() {
			if c.Instance == owner {
				e = c.Engine
			}
		}
		if how == "drained" {
			e.SetDrained(true)
		} else {
			e.Down()
		}
		moved := w.serve(p, "served")
		if moved == owner {
			t.Fatalf("%s, and still chosen", how)
		}
		e.SetDrained(false)
		e.Up(w.now)
		w.now = w.now.Add(time.Minute)
		if got := w.serve(p, "served"); got != moved {
			t.Errorf("%s: the session that moved to %s is on %s", how, moved, got)
		}
		if got := w.serve(p, other); got != owner {
			t.Errorf("%s: the session that rested is on %s, not back on %s", how, got, owner)
		}
	}
}

func TestOwner_MovesWithTheLoad(t *testing.T) {
	w := newWorld(t)
	votes := []lb.Weighted{w.affinity(1), leastInflight(1)}
	p := w.load(votes, numbered(3)...)
	first := w.serve(p, "s")
	free := w.busy(p, first, 5)
	second := w.serve(p, "s")
	if second == first {
		t.Fatal("five in flight moved nothing")
	}
	free()
	if got := w.serve(p, "s"); got != second {
		t.Errorf("idle again, and the session left its warm cache for %s", got)
	}
	report := p.Explain(of("s"), w.now)
	if got := report.Votes[0].Reason; !strings.Contains(got, `session "s" from header "session-id"`) || !strings.Contains(got, second) {
		t.Errorf("explained by %q", got)
	}
	for _, c := range report.Candidates {
		if want := map[string]float64{second: 1, first: .5}[c.Instance]; want != 0 && c.Votes[0].Score != want {
			t.Errorf("%s scores %v, want %v", c.Instance, c.Votes[0].Score, want)
		}
	}
	// A reload forgets nothing.
	p = w.load([]lb.Weighted{w.affinity(1), leastInflight(1)}, numbered(3)...)
	if got := w.serve(p, "s"); got != second {
		t.Errorf("after a reload on %s", got)
	}
	// Once the owner has left for good the hash decides.
	var rest []string
	for _, name := range numbered(3) {
		if !strings.HasSuffix(name, second) {
			rest = append(rest, name)
		}
	}
	p = w.load([]lb.Weighted{w.affinity(1), leastInflight(1)}, rest...)
	if got := w.serve(p, "s"); got != first {
		t.Errorf("its owner gone, it is on %s, not on %s", got, first)
	}
	// And back at its first candidate there is nothing to remember.
	if n := w.memory.len(); n != 0 {
		t.Errorf("%d remembered", n)
	}
}

// verdict is a vote per model for one of them.
type verdict struct{ model *string }

func (v verdict) Vote(b *lb.Ballot) {
	b.PerModel = true
	for i := range b.Candidates {
		if b.Candidates[i].Model == *v.model {
			b.Scores[i] = 1
		}
	}
}

// A session has an owner in each model, when it is not the load that chooses the model.
func TestOwner_PerModel(t *testing.T) {
	w := newWorld(t)
	model := "small"
	p := w.load([]lb.Weighted{{Name: "verdict", Weight: 10, Voter: verdict{&model}}, w.affinity(1), leastInflight(1)},
		"small/s1", "small/s2", "small/s3", "large/l1", "large/l2", "large/l3")
	owners := map[string]string{}
	for _, model = range []string{"small", "large"} {
		first := w.serve(p, "s")
		free := w.busy(p, first, 50)
		owners[model] = w.serve(p, "s")
		free()
		if owners[model] == first || owners[model][0] != model[0] {
			t.Fatalf("%s: first %s, then %s", model, first, owners[model])
		}
	}
	for range 3 {
		for _, model = range []string{"small", "large"} {
			if got := w.serve(p, "s"); got != owners[model] {
				t.Errorf("%s: on %s, its owner is %s", model, got, owners[model])
			}
		}
	}
	// Without a verdict the load may choose the model, and whoever serves is the only owner.
	model = ""
	for _, owner := range owners {
		idle := w.busy(p, owner, 50)
		defer idle()
	}
	only := w.serve(p, "s")
	if o := w.memory.peek(place{"r", sessionOf([]byte("s"))}, w.now); o.n > 1 {
		t.Errorf("%d owners, want only %s", o.n, only)
	}
}

func TestC133_SlidingTimeAndBoundedMemory(t *testing.T) {
	w := newWorld(t)
	p := w.load([]lb.Weighted{w.affinity(1), leastInflight(1)}, numbered(3)...)
	first := w.serve(p, "s")
	free := w.busy(p, first, 5)
	second := w.serve(p, "s")
	free()
	for range 20 {
		w.now = w.now.Add(rest * 4 / 10)
		if got := w.serve(p, "s"); got != second {
			t.Fatalf("a session in use lost its owner after %v", w.now.Sub(start))
		}
	}
	for range 20 {
		w.now = w.now.Add(rest * 4 / 10)
		w.would(p, "s") // looking at it is not using it
	}
	if got := w.serve(p, "s"); got != first {
		t.Errorf("a session at rest kept its owner %s", got)
	}

	// A million sessions, each moved at once: the memory stays bounded, and nothing runs in the background.
	w.memory = newMemory(capacity)
	candidates := p.Candidates()
	key := make([]byte, 8)
	for i := range 1_000_000 {
		key = strconv.AppendInt(key[:0], int64(i), 10)
		w.memory.picked(place{"r", sessionOf(key)}, candidates, i%3, false, false, w.now)
	}
	if n := w.memory.len(); n > capacity {
		t.Errorf("%d sessions remembered, the limit is %d", n, capacity)
	}
	// What has rested goes, without a sweep.
	w.now = w.now.Add(2 * rest)
	for i := range 2 * capacity {
		key = strconv.AppendInt(key[:0], int64(i), 10)
		w.memory.picked(place{"r", sessionOf(key)}, candidates, 0, false, i < capacity, w.now)
	}
	for i := range w.memory.shards {
		if _, e, ok := w.memory.shards[i].lru.GetOldest(); ok && w.now.Sub(e.used) >= rest {
			t.Errorf("shard %d still has an entry of %v", i, e.used)
		}
	}
}

// Nobody takes over the owner of somebody else's session, and routes don't share owners.
func TestOwner_IsOfOneSessionOnOneRoute(t *testing.T) {
	m := newMemory(capacity)
	candidates := []lb.Candidate{{Key: 1}, {Key: 2}}
	s := session{1, 1}
	m.picked(place{"r", s}, candidates, 1, false, false, start)
	for _, other := range []place{{"q", s}, {"r", session{1, 2}}, {"r", session{2, 1}}, {"r", session{1, 1 + shards}}} {
		if m.peek(other, start).n != 0 {
			t.Errorf("%v has the owner of another", other)
		}
	}
	if o := m.peek(place{"r", s}, start); o.n != 1 || o.keys[0] != 2 {
		t.Errorf("got %v", o)
	}
}

func TestVote_WithoutSessionAbstains(t *testing.T) {
	w := newWorld(t)
	p := w.load([]lb.Weighted{w.affinity(1), leastInflight(1)}, numbered(4)...)
	got := map[string]int{}
	for range 400 {
		got[w.serve(p, "")]++
	}
	for instance, n := range got {
		if n < 60 || n > 140 {
			t.Errorf("%s has %d of 400 requests without a key", instance, n)
		}
	}
	if v := p.Explain(of(""), start).Votes[0]; !v.Abstained || v.Reason != "no session key in the request" {
		t.Errorf("got %+v", v)
	}
}

func TestExplain_HidesCredentials(t *testing.T) {
	v := &voter{sources: []source{{header: "Authorization", name: `header "Authorization"`}}, memory: newMemory(shards)}
	w := newWorld(t)
	p := w.load([]lb.Weighted{{Name: Name, Weight: 1, Voter: v}}, numbered(2)...)
	r := &lb.Request{Header: headers{"authorization": "Bearer sk-very-secret"}}
	if got := p.Explain(r, start).Votes[0].Reason; strings.Contains(got, "secret") || !strings.Contains(got, "Authorization") {
		t.Errorf("got %q", got)
	}
}

func TestRanking(t *testing.T) {
	r := dice(3)
	for n := range 130 {
		candidates := make([]lb.Candidate, n)
		live := make([]bool, n)
		for i := range candidates {
			candidates[i].Key = r()
			live[i] = r()%4 > 0
		}
		s := session{r(), r()}
		scores := make([]float64, n)
		var top ranking
		top.rank(s, candidates, live)
		score(scores, candidates, live, &top, owners{})
		for i := range candidates {
			heavier := 0
			for k := range candidates {
				if live[k] && mix(s, candidates[k].Key) > mix(s, candidates[i].Key) {
					heavier++
				}
			}
			want := math.Pow(2, -float64(heavier))
			if !live[i] || heavier >= depth {
				want = 0
			}
			if scores[i] != want {
				t.Fatalf("%d candidates, rank %d: score %v, want %v", n, heavier, scores[i], want)
			}
		}
	}
}

func TestScore_OwnersComeFirst(t *testing.T) {
	candidates := make([]lb.Candidate, 4)
	for i := range candidates {
		candidates[i].Key = uint64(i + 1)
	}
	s := sessionOf([]byte("s"))
	var r ranking
	live := []bool{true, true, false, true}
	r.rank(s, candidates, live)
	first := int(r.index[0])
	last := int(r.index[2])
	scores := make([]float64, 4)
	// The owner that is out is passed over, and so is the one that has left.
	score(scores, candidates, live, &r, owners{keys: [perRoute]uint64{3, 99, candidates[last].Key}, n: 3})
	if scores[last] != 1 || scores[first] != .5 || scores[2] != 0 {
		t.Errorf("got %v", scores)
	}
}

func TestRoster(t *testing.T) {
	three := []lb.Candidate{{Key: 1, Model: "a"}, {Key: 2, Model: "a"}, {Key: 3, Model: "b"}}
	var r *roster
	r = r.follow(three, start)
	r = r.follow(three[:1], start)
	if len(r.members) != 1 || len(r.left) != 2 {
		t.Fatalf("got %+v", r)
	}
	r = r.follow(three[:2], start.Add(time.Hour))
	if len(r.left) != 1 || r.left[0].key != 3 || !r.left[0].since.Equal(start) {
		t.Errorf("one came back: %+v", r)
	}
	if r = r.follow(three[:2], start.Add(absence)); len(r.left) != 0 {
		t.Errorf("gone for long: %+v", r)
	}
	many := make([]lb.Candidate, 100)
	for i := range many {
		many[i].Key = uint64(100 + i)
	}
	if r = r.follow(many, start).follow(nil, start); len(r.left) != absences || r.left[absences-1].key != 199 {
		t.Errorf("%d absent ones remembered", len(r.left))
	}
}

// Test that only a move is told: not the first request of a session, and not those that follow it to its new owner.
func TestMovesAreTold(t *testing.T) {
	w := newWorld(t)
	var told []string
	affinity := lb.Weighted{Name: Name, Weight: 1, Voter: &voter{sources: defaultKeys, memory: w.memory,
		moved: []func(string){func(route string) { told = append(told, route) }}}}
	p := w.load([]lb.Weighted{affinity, leastInflight(1)}, "m/a", "m/b")
	owner := w.serve(p, "s")
	w.serve(p, "s")
	if len(told) != 0 {
		t.Fatalf("told %v when nothing moved", told)
	}
	idle := w.busy(p, owner, 50)
	if w.serve(p, "s") == owner {
		t.Fatal("the session did not move")
	}
	w.serve(p, "s")
	idle()
	w.serve(p, "s")
	if len(told) != 1 || told[0] != "r" {
		t.Errorf("told %v", told)
	}
}
