package fleetsim

import (
	"fmt"
	"math"
	"time"
)

// Scenario says what is simulated: every combination of Instances, Load, Gateways, Share and Strategies is a point. The
// defaults are those of Default.
type Scenario struct {
	Title      string        `json:"title"`      // of tables and plots
	Seed       uint64        `json:"seed"`       // of all randomness
	Repeat     int           `json:"repeat"`     // runs of each point, with seeds counted up; they are measured together
	WarmUp     time.Duration `json:"warm_up"`    // how long each run goes on before it is measured
	Measure    time.Duration `json:"measure"`    // how long requests are measured, by their arrival
	Instances  []int         `json:"instances"`  // sizes of the fleet, 1 to 1,024
	Load       []float64     `json:"load"`       // factors on the numbers of agents and chats
	Gateways   []int         `json:"gateways"`   // numbers of gateways, 1 to 16
	Share      []string      `json:"share"`      // what gateways know of each other: see Shares
	Roam       bool          `json:"roam"`       // each request takes any gateway, instead of a client keeping to one
	Engine     Engine        `json:"engine"`     // every instance, but for its kind
	Kinds      []Kind        `json:"kinds"`      // instances of different speed; each kind is a target of the route
	Agents     Agents        `json:"agents"`     // clients with sessions
	Chat       Chat          `json:"chat"`       // clients without
	Spread     float64       `json:"spread"`     // standard deviation of all lengths and pauses, as a part of their mean; 0 to 4
	Strategies []Strategy    `json:"strategies"` // ways of balancing
	Plot       string        `json:"plot"`       // what the plots have along the x axis: an axis of the scenario
}

// What gateways may know of each other.
const (
	ShareNothing = "nothing" // each counts its own requests only
	ShareCounts  = "counts"  // all count together, without delay
	ShareAll     = "all"     // and they know which sessions the others have moved
)

// The axes of a scenario.
const (
	AxisInstances  = "instances"
	AxisLoad       = "load"
	AxisGateways   = "gateways"
	AxisShare      = "share"
	AxisStrategies = "strategies"
)

// Engine is the model of an engine with continuous batching and chunked prefill. It works in steps: in each one, every
// running answer gets one token, and ChunkTokens of the waiting prompts are read, first come, first served. A step
// takes as long as its parts together.
type Engine struct {
	Prefill     float64 `json:"prefill_tokens_per_second"`     // of prompts, while no answer is written
	Decode      float64 `json:"decode_tokens_per_second"`      // of one answer alone
	DecodeFull  float64 `json:"decode_tokens_per_second_full"` // of each answer when all slots write, and no prompt is read
	Slots       int     `json:"slots"`                         // requests at work at a time; others wait in the engine
	ChunkTokens int     `json:"chunk_tokens"`                  // read in one step, at most
	CacheTokens int     `json:"cache_tokens"`                  // room for prompts and answers of requests past
}

// speed returns the length of the engine's steps. A kind multiplies all speeds by a factor.
func (e *Engine) speed(factor float64) speed {
	alone, full := 1/e.Decode, 1/e.DecodeFull
	var more float64
	if e.Slots > 1 {
		more = (full - alone) / float64(e.Slots-1)
	}
	return speed{base: (alone - more) / factor, answer: more / factor,
		chunk: float64(e.ChunkTokens) / e.Prefill / factor, tokens: float64(e.ChunkTokens)}
}

// Kind is a part of the fleet.
type Kind struct {
	Name   string  `json:"name" jsontree:"required"`
	Part   int     `json:"part" jsontree:"required"`   // of the instances, in proportion to the parts of all kinds
	Speed  float64 `json:"speed" jsontree:"required"`  // factor on the engine's speeds
	Weight int64   `json:"weight" jsontree:"required"` // of the target, in target_weight
}

// Agents are clients whose every request goes on from the last one's answer. There is a fixed number of them: one that
// has ended a session thinks, and begins another. So a fleet that is too slow gets less to do, not ever longer lines.
type Agents struct {
	PerInstance   float64       `json:"per_instance"`   // how many there are, times the number of instances
	PrefixTokens  int           `json:"prefix_tokens"`  // system prompt and tools, the same for all agents
	Turns         float64       `json:"turns"`          // of a session, in the mean
	TurnTokens    float64       `json:"turn_tokens"`    // by which each turn's prompt is longer than all before, in the mean
	AnswerTokens  float64       `json:"answer_tokens"`  // in the mean
	ContextTokens int           `json:"context_tokens"` // a session ends before its prompt gets longer than that
	Tool          time.Duration `json:"tool"`           // from an answer to the next turn, in the mean
	Burst         float64       `json:"burst"`          // turns until the agent waits for its user, in the mean
	Think         time.Duration `json:"think"`          // of the user, in the mean
}

// Chat is requests that have nothing to do with each other and no session key, arriving at random (a Poisson process).
type Chat struct {
	PerInstance  float64 `json:"per_second_per_instance"` // requests, times the number of instances
	PromptTokens float64 `json:"prompt_tokens"`           // in the mean
	AnswerTokens float64 `json:"answer_tokens"`           // in the mean
}

// Strategy is a way of balancing. By is "target_weight" or "round_robin"; without it the weights say which policies
// vote.
type Strategy struct {
	Name        string   `json:"name"` // in tables and plots; made of the rest if it is ""
	By          string   `json:"by"`
	Affinity    *float64 `json:"session_affinity"`
	Load        *float64 `json:"least_inflight"`
	LoadPer     *float64 `json:"least_inflight_per_instance"` // times the number of instances, in place of least_inflight
	MaxInflight int64    `json:"max_inflight"`                // of each instance, at each gateway; beyond it requests wait there. 0 is unlimited
}

// load returns the weight of least_inflight over n instances, 0 if it does not vote.
func (s *Strategy) load(n int) float64 {
	switch {
	case s.LoadPer != nil:
		return *s.LoadPer * float64(n)
	case s.Load != nil:
		return *s.Load
	}
	return 0
}

// title is what the strategy is called.
func (s *Strategy) title() string {
	title := s.Name
	if title == "" {
		title = s.kind()
		if s.MaxInflight > 0 {
			title += fmt.Sprintf(", cap %d", s.MaxInflight)
		}
	}
	return title
}

// kind tells the ways of balancing apart. Weights of both policies are least_inflight's : session_affinity's.
func (s *Strategy) kind() string {
	switch {
	case s.By == "round_robin":
		return "round robin"
	case s.By == "target_weight":
		return "target weight"
	case s.Affinity == nil:
		return "least in-flight"
	case s.LoadPer != nil:
		return "both " + perInstance(*s.LoadPer / *s.Affinity) + ":1"
	case s.Load != nil:
		return "both " + short(*s.Load / *s.Affinity) + ":1"
	}
	return "affinity"
}

// perInstance writes a multiple of the number of instances: "N/2", "3N/8", "2N", "0.3N".
func perInstance(f float64) string {
	for _, part := range []float64{1, 2, 3, 4, 8, 16} {
		whole := math.Round(f * part)
		if whole > 0 && whole < 10 && math.Abs(whole-f*part) < 0.002*whole {
			text := "N"
			if whole != 1 {
				text = short(whole) + text
			}
			if part != 1 {
				text += "/" + short(part)
			}
			return text
		}
	}
	return short(f) + "N"
}

// Default returns the scenario that every member left out of a file comes from: agents and some chat before one to 64
// instances and one gateway, by every way of balancing.
func Default() Scenario {
	w := func(f float64) *float64 { return &f }
	return Scenario{
		Title: "A fleet by its size", Seed: 1, Repeat: 2, WarmUp: 10 * time.Minute, Measure: 20 * time.Minute,
		Instances: []int{1, 2, 3, 4, 5, 6, 8, 16, 32, 64}, Load: []float64{1}, Gateways: []int{1},
		Share:  []string{ShareNothing},
		Engine: Engine{Prefill: 10_000, Decode: 100, DecodeFull: 50, Slots: 16, ChunkTokens: 2048, CacheTokens: 600_000},
		Kinds:  []Kind{{Name: "engine", Part: 1, Speed: 1, Weight: 1}},
		Agents: Agents{PerInstance: 12, PrefixTokens: 10_000, Turns: 30, TurnTokens: 1500, AnswerTokens: 300,
			ContextTokens: 128_000, Tool: 2 * time.Second, Burst: 10, Think: time.Minute},
		Chat:   Chat{PerInstance: 0.2, PromptTokens: 1000, AnswerTokens: 300},
		Spread: 1,
		Strategies: []Strategy{
			{By: "round_robin"}, {By: "target_weight"}, {Load: w(1)}, {Affinity: w(1)},
			{Affinity: w(1), Load: w(1)}, {Affinity: w(1), Load: w(1.5)}, {Affinity: w(1), Load: w(2)},
			{Affinity: w(1), Load: w(4)}, {Affinity: w(1), LoadPer: w(0.125)}, {Affinity: w(1), LoadPer: w(0.25)},
			{Affinity: w(1), LoadPer: w(0.5)},
		},
		Plot: AxisInstances,
	}
}
