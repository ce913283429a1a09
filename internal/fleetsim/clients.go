package fleetsim

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// dice is one client's randomness. Each client has its own, so that every way of balancing meets the same load.
type dice struct {
	*rand.Rand
	spread float64
}

func newDice(seed, client uint64, spread float64) dice {
	return dice{rand.New(rand.NewPCG(seed, client)), spread}
}

// around returns a number of the given mean: log-normally distributed, as lengths of prompts and answers roughly are.
func (d *dice) around(mean float64) float64 {
	if mean <= 0 || d.spread == 0 {
		return mean
	}
	variance := math.Log1p(d.spread * d.spread)
	return mean * math.Exp(math.Sqrt(variance)*d.NormFloat64()-variance/2)
}

// count is around as a whole number, at least 1.
func (d *dice) count(mean float64) int { return max(1, int(math.Round(d.around(mean)))) }

// pause is around for durations, in seconds.
func (d *dice) pause(mean time.Duration) float64 { return d.around(mean.Seconds()) }

// agent is one agent, which has one session after the other.
type agent struct {
	appointment
	dice
	run     *run
	gateway *gateway // nil if it roams

	number   uint64
	sessions uint64
	key      []byte // of the session
	left     int    // turns
	context  int    // tokens of the session so far, without the prefix
	last     int    // instance that had the last turn, -1 before the first
}

// newAgent returns an agent in the middle of its work, as it is to be found in a fleet that has run for long.
func newAgent(r *run, number uint64) *agent {
	a := &agent{dice: newDice(r.seed, number, r.scenario.Spread), run: r, number: number}
	if !r.scenario.Roam {
		a.gateway = r.gateways[a.IntN(len(r.gateways))]
	}
	a.begin()
	done := a.IntN(a.left)
	a.left -= done
	load := &r.scenario.Agents
	a.context = min(int(float64(done)*(load.TurnTokens+load.AnswerTokens)), max(0, load.ContextTokens-load.PrefixTokens))
	r.calendar.set(a, a.Float64()*(load.Think+load.Tool).Seconds())
	return a
}

func (a *agent) at() *appointment { return &a.appointment }

// begin begins a session.
func (a *agent) begin() {
	a.sessions++
	a.key = fmt.Appendf(nil, "agent-%d-session-%d", a.number, a.sessions)
	a.left, a.context, a.last = a.count(a.run.scenario.Agents.Turns), 0, -1
}

// act takes the next turn.
func (a *agent) act(now float64) {
	if a.run.over(now) {
		return
	}
	load := &a.run.scenario.Agents
	more, answer := a.count(load.TurnTokens), a.count(load.AnswerTokens)
	if a.left == 0 || load.PrefixTokens+a.context+more+answer > load.ContextTokens {
		a.begin()
	}
	r := a.run.request()
	r.client, r.session, r.last, r.answer = a, a.key, a.last, answer
	r.prompt = prompt{commonTokens: load.PrefixTokens, own: a.number<<24 + a.sessions, ownTokens: a.context + more,
		known: load.PrefixTokens + a.context}
	g := a.gateway
	if g == nil {
		g = a.run.gateways[a.IntN(len(a.run.gateways))]
	}
	a.run.arrive(r, g, now)
}

// answered makes the agent use a tool, or wait for its user.
func (a *agent) answered(r *request, now float64) {
	load := &a.run.scenario.Agents
	a.context = r.prompt.ownTokens + r.answer
	a.last = r.lease.Index()
	a.left--
	pause := a.pause(load.Tool)
	if a.left == 0 || a.Float64()*load.Burst < 1 {
		pause = a.pause(load.Think)
	}
	a.run.calendar.set(a, now+pause)
}

// chat is the stream of requests without a session.
type chat struct {
	appointment
	dice
	run  *run
	rate float64 // requests per second
	sent uint64
}

// newChat returns a stream that begins now.
func newChat(r *run, rate float64) *chat {
	c := &chat{dice: newDice(r.seed, 0, r.scenario.Spread), run: r, rate: rate}
	c.run.calendar.set(c, c.ExpFloat64()/rate)
	return c
}

func (c *chat) at() *appointment { return &c.appointment }

// act sends one request.
func (c *chat) act(now float64) {
	if c.run.over(now) {
		return
	}
	c.sent++
	r := c.run.request()
	r.client, r.session, r.last, r.answer = c, nil, -1, c.count(c.run.scenario.Chat.AnswerTokens)
	r.prompt = prompt{own: 1<<63 + c.sent, ownTokens: c.count(c.run.scenario.Chat.PromptTokens)}
	g := c.run.gateways[c.IntN(len(c.run.gateways))]
	c.run.calendar.set(c, now+c.ExpFloat64()/c.rate)
	c.run.arrive(r, g, now)
}

func (*chat) answered(*request, float64) {}
