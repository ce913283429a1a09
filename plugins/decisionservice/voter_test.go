package decisionservice

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/race"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// oracle is an asker that answers what it is told to, and keeps what it was asked.
type oracle struct {
	mu     sync.Mutex
	answer string
	err    error
	asked  []string
}

func (o *oracle) Ask(_ context.Context, q Question) ([]byte, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.asked = append(o.asked, string(q.Body))
	return []byte(o.answer), o.err
}

// says makes the oracle answer with the probability of the small model.
func (o *oracle) says(small, confidence float64) {
	o.answer = answered(fmt.Sprintf(`"type":"choice","choice":"qwen3-0.6b","probabilities":{"qwen3-0.6b":%g,"qwen3-32b":%g},"confidence":%g`,
		small, 1-small, confidence))
}

// policy is a decision_service of weight 10 that asks by asker.
func policy(tb testing.TB, a Asker, more string) lb.Weighted {
	tb.Helper()
	s, err := plugins.ParseSpec(`{"provider": "any", "model": "m", "criteria": {"qwen3-32b": "math"}`+more+`}`, surroundings)
	if err != nil {
		tb.Fatal(err)
	}
	v := New(a).Build(s)
	if len(s.Findings()) > 0 {
		tb.Fatal(s.Findings())
	}
	return lb.Weighted{Name: Name, Weight: 10, Voter: v}
}

// others are the policies beside it, both of weight 1.
func others() []lb.Weighted {
	affinity := sessionaffinity.New()
	return []lb.Weighted{
		{Name: affinity.Name, Weight: 1, Voter: affinity.Build(plugins.NewSpec(plugins.SpecConfig{}))},
		{Name: leastinflight.Name, Weight: 1, Voter: leastinflight.Voter{}},
	}
}

// load makes a pool with so many instances of the two models.
func load(small, big int, votes ...lb.Weighted) *lb.Pool {
	var mu sync.Mutex
	source := rand.New(rand.NewPCG(7, 1))
	dice := func() uint64 {
		mu.Lock()
		defer mu.Unlock()
		return source.Uint64()
	}
	fleet := lb.NewFleet(dice)
	c := lb.Config{Route: "qwen3", By: lb.Policy, Votes: votes, Fleet: fleet, Rand: dice,
		Health: lb.HealthPolicy{Threshold: 3, Cooldown: 10 * time.Second, Ramp: 10 * time.Second, FailOpen: true}}
	for t, n := range []int{small, big} {
		model := surroundings.Models[t]
		c.Targets = append(c.Targets, lb.Target{Name: model})
		for i := range n {
			name := fmt.Sprintf("%s-%d", model, i+1)
			c.Candidates = append(c.Candidates, lb.Candidate{Target: t, Instance: name, Model: model,
				Key: lb.CandidateKey(model, name), Engine: fleet.Engine("http://" + name)})
		}
	}
	return lb.NewPool(c)
}

type headers map[string]string

func (h headers) Peek(name string) []byte { return []byte(h[name]) }

// request is a chat request of a session, of none if it is "".
func request(tb testing.TB, text, session string) *lb.Request {
	tb.Helper()
	endpoint, _, fault := openai.Resolve([]byte("POST"), []byte("/v1/chat/completions"))
	if fault != nil {
		tb.Fatal(fault)
	}
	call := new(openai.Call)
	if fault := call.Parse(fmt.Appendf(nil, `{"model":"qwen3","messages":[{"role":"user","content":%q}]}`, text)); fault != nil {
		tb.Fatal(fault)
	}
	return &lb.Request{Endpoint: endpoint, Call: call, Header: headers{"session-id": session}}
}

// send prepares and picks, and returns what was picked.
func send(tb testing.TB, p *lb.Pool, r *lb.Request) *lb.Lease {
	tb.Helper()
	p.Prepare(tb.Context(), r, start)
	l := new(lb.Lease)
	if err := p.Pick(r, l, start); err != nil {
		tb.Fatal(err)
	}
	return l
}

// reason returns what the policy says of its vote.
func reason(p *lb.Pool, r *lb.Request) string { return p.Explain(r, start).Votes[0].Reason }

// The verdict decides the model, whichever has the replicas, and load spreads the requests over the model's instances.
func TestVerdictDecidesTheModel(t *testing.T) {
	for _, replicas := range [][2]int{{1, 10}, {10, 1}, {10, 10}} {
		for _, small := range []float64{.9, .1} {
			for _, sessions := range []bool{false, true} {
				o := &oracle{}
				o.says(small, .8)
				p := load(replicas[0], replicas[1], append([]lb.Weighted{policy(t, o, "")}, others()...)...)
				model, instances := 0, replicas[0]
				if small < .5 {
					model, instances = 1, replicas[1]
				}
				session := ""
				counts := map[string]int{}
				for i := range 200 { // all of them at once
					if sessions {
						session = fmt.Sprint("session-", i)
					}
					l := send(t, p, request(t, "a task", session))
					if got := l.Candidate(); got.Target != model {
						t.Fatalf("%v, %v: request %d went to %s", replicas, small, i, got.Instance)
					}
					counts[l.Candidate().Instance]++
				}
				if len(counts) != instances {
					t.Errorf("%v, %v, sessions %v: %d instances got requests", replicas, small, sessions, len(counts))
				}
				for instance, n := range counts {
					if !sessions && n != 200/instances {
						t.Errorf("%v, %v: %s got %d", replicas, small, instance, n)
					}
				}
			}
		}
	}
}

func TestVote_GapDoesNotDependOnReplicas(t *testing.T) {
	for _, big := range []int{1, 3, 100} {
		o := &oracle{}
		o.says(.75, .5)
		p := load(1, big, policy(t, o, ""))
		r := request(t, "a task", "")
		p.Prepare(t.Context(), r, start)
		report := p.Explain(r, start)
		if got := report.Votes[0]; !got.PerModel || got.Strength != .5 || got.Abstained ||
			got.Reason != `"any" chose "qwen3-0.6b": probability 0.75, confidence 0.5` {
			t.Errorf("%+v", got)
		}
		for i, c := range report.Candidates {
			want := 10 * .5 * .75
			if i > 0 {
				want = 10 * .5 * .25
			}
			if c.Total < want-1e-9 || c.Total > want+1e-9 {
				t.Errorf("%d instances: %s has %v, want %v", big, c.Instance, c.Total, want)
			}
		}
	}
}

func TestPrepare_Asks(t *testing.T) {
	o := &oracle{}
	o.says(.9, 1)
	p := load(2, 2, policy(t, o, `, "instructions": "choose"`))
	r := request(t, "say \"hi\"", "")
	send(t, p, r).Done(lb.Failed, start)
	r.Tried(0)
	send(t, p, r).Done(lb.Served, start) // another attempt asks nobody
	if len(o.asked) != 1 {
		t.Fatalf("asked %d times", len(o.asked))
	}
	if !strings.HasPrefix(o.asked[0], `{"model":"m","state":"`) || !strings.Contains(o.asked[0], `hi`) || !strings.HasSuffix(o.asked[0],
		`,"questions":{"model_selection":{"type":"choice","instructions":"choose","criteria":{"qwen3-0.6b":null,"qwen3-32b":"math"}}}}`) {
		t.Errorf("asked %s", o.asked[0])
	}
}

func TestPrepare_DoesNotAsk(t *testing.T) {
	t.Run("an explanation", func(t *testing.T) {
		o := &oracle{}
		p := load(1, 1, append([]lb.Weighted{policy(t, o, "")}, others()...)...)
		if got := reason(p, request(t, "a task", "")); got != "the service was not asked" || len(o.asked) > 0 {
			t.Errorf("%q, asked %q", got, o.asked)
		}
	})
	t.Run("one model is alive", func(t *testing.T) {
		o := &oracle{}
		p := load(3, 1, policy(t, o, ""))
		p.Candidates()[3].Engine.SetDrained(true)
		r := request(t, "a task", "")
		l := send(t, p, r)
		if got := reason(p, r); got != "there are not two models to choose among" || len(o.asked) > 0 || l.Candidate().Target != 0 {
			t.Errorf("%q, asked %q", got, o.asked)
		}
	})
	t.Run("no text", func(t *testing.T) {
		o := &oracle{}
		p := load(1, 1, policy(t, o, ""))
		for _, r := range []*lb.Request{{}, {Call: request(t, "a task", "").Call}, {Call: new(openai.Call), Endpoint: request(t, "", "").Endpoint}} {
			send(t, p, r)
			if got := reason(p, r); got != "the request has no text to judge by" || len(o.asked) > 0 {
				t.Errorf("%q, asked %q", got, o.asked)
			}
		}
	})
	t.Run("muted", func(t *testing.T) {
		o := &oracle{}
		w := policy(t, o, "")
		w.Voter.(*voter).mute = "no decision model is configured"
		p := load(1, 1, w)
		r := request(t, "a task", "")
		send(t, p, r)
		if got := reason(p, r); got != "no decision model is configured" || len(o.asked) > 0 {
			t.Errorf("%q, asked %q", got, o.asked)
		}
	})
}

// What is not of use: the others decide, and the reason can be read.
func TestPrepare_Abstains(t *testing.T) {
	o := &oracle{}
	p := load(2, 2, append([]lb.Weighted{policy(t, o, "")}, others()...)...)
	p.Candidates()[0].Engine.SetDrained(true)
	check := func(want string) {
		t.Helper()
		r := request(t, "a task", "")
		l := send(t, p, r)
		if by := l.By(); by == Name {
			t.Error("it decided")
		}
		if got := reason(p, r); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if !p.Explain(r, start).Votes[0].Abstained {
			t.Error("it did not abstain")
		}
		l.Done(lb.Served, start)
	}
	for _, test := range nonsense {
		o.answer = strings.NewReplacer(`"big"`, `"qwen3-32b"`, `"small"`, `"qwen3-0.6b"`).Replace(test.answer)
		if _, err := believe([]byte(o.answer), surroundings.Models); err != nil {
			check(fmt.Sprintf(`the answer of "any" can't be believed: %v`, err))
		}
	}
	o.err = errors.New("no answer within 3s")
	check("no answer within 3s")
	o.err = nil
	o.says(.9, 0)
	check(`"any" chose "qwen3-0.6b": probability 0.9, confidence 0`)
}

// Between the question and the vote instances come and go.
func TestVote_CandidatesChange(t *testing.T) {
	o := &oracle{}
	o.says(.9, 1)
	p := load(2, 2, policy(t, o, ""))
	small, big := p.Candidates()[:2], p.Candidates()[2:]
	small[1].Engine.SetDrained(true)
	r := request(t, "a task", "")
	p.Prepare(t.Context(), r, start)
	// The other instance of a model that was offered has that model's probability.
	small[0].Engine.SetDrained(true)
	small[1].Engine.SetDrained(false)
	if got := send(t, p, r); got.Candidate().Instance != "qwen3-0.6b-2" {
		t.Errorf("went to %s", got.Candidate().Instance)
	}
	// When the chosen model is gone altogether, the next one serves.
	small[1].Engine.SetDrained(true)
	if got := send(t, p, r); got.Candidate().Model != "qwen3-32b" {
		t.Errorf("went to %s", got.Candidate().Instance)
	}
	// A model that wasn't offered has nothing.
	o.answer = answered(`"choice":"qwen3-0.6b"`)
	three := slices.Concat(small, big, []lb.Candidate{{Target: 1, Instance: "new", Model: "new", Engine: big[0].Engine}})
	v := policy(t, o, "").Voter.(*voter)
	n, _ := v.Prepare(t.Context(), r, three, []bool{true, true, true, true, false}).(*note)
	if n == nil || !slices.Equal(n.shares, []float64{1, 1, 0, 0, 0}) {
		t.Errorf("got %+v", n)
	}
}

func TestVote_DoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	o := &oracle{}
	o.says(.9, .8)
	p := load(4, 4, append([]lb.Weighted{policy(t, o, "")}, others()...)...)
	r, l := request(t, "a task", "session-1"), new(lb.Lease)
	p.Prepare(t.Context(), r, start)
	if n := testing.AllocsPerRun(100, func() {
		if err := p.Pick(r, l, start); err != nil {
			t.Fatal(err)
		}
		l.Done(lb.Served, start)
	}); n != 0 {
		t.Errorf("%v allocations a pick", n)
	}
}
