package fleetsim

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// Bounds of a scenario.
const (
	maxInstances = 1024
	maxGateways  = 16
)

// Problem is something wrong in a scenario, with its place.
type Problem struct {
	Line, Column int // from 1, the column in bytes
	jsontree.Problem
}

// String returns line:column: path: message.
func (p Problem) String() string {
	text := fmt.Sprintf("%d:%d: ", p.Line, p.Column)
	if p.Path != "" {
		text += p.Path + ": "
	}
	return text + p.Message
}

// Parse reads a scenario, strictly. What it leaves out is as in Default. It returns all problems, by their places; with
// any, the scenario is not to be used.
func Parse(text []byte) (*Scenario, []Problem) {
	s := Default()
	root, problems := jsontree.Parse(text)
	if len(problems) == 0 {
		problems = jsontree.Decode(root, "", &s)
	}
	if len(problems) == 0 {
		c := checker{root: root}
		c.scenario(&s)
		problems = c.problems
	}
	placed := make([]Problem, len(problems))
	for i, p := range problems {
		line := 1 + strings.Count(string(text[:p.Offset]), "\n")
		placed[i] = Problem{Line: line, Column: p.Offset - strings.LastIndex(string(text[:p.Offset]), "\n"), Problem: p}
	}
	sort.SliceStable(placed, func(i, j int) bool { return placed[i].Offset < placed[j].Offset })
	return &s, placed
}

// checker collects what is wrong with values that have the right types.
type checker struct {
	root     *jsontree.Value
	problems []jsontree.Problem
}

func (c *checker) problemf(path, format string, args ...any) {
	at, _ := c.root.Find(path)
	c.problems = append(c.problems, jsontree.Problem{Offset: at.Offset, Path: path, Message: fmt.Sprintf(format, args...)})
}

// within checks that a number is in a range, both ends included.
func (c *checker) within(path string, value, least, most float64) {
	switch {
	case value >= least && value <= most:
	case math.IsInf(most, 1):
		c.problemf(path, "%v is less than %v", value, least)
	default:
		c.problemf(path, "%v is not in the range from %v to %v", value, least, most)
	}
}

// positive checks that a number is above 0.
func (c *checker) positive(path string, value float64) {
	if !(value > 0) {
		c.problemf(path, "%v is not above 0", value)
	}
}

// duration checks that a duration is at least as long as another.
func (c *checker) duration(path string, value, least time.Duration) {
	if value < least || value > 24*time.Hour {
		c.problemf(path, "%v is not in the range from %v to 24h", value, least)
	}
}

// oneOf checks that a text is one of those allowed.
func (c *checker) oneOf(path, value string, allowed ...string) {
	if !slices.Contains(allowed, value) {
		c.problemf(path, "%q is none of %s", value, strings.Join(allowed, ", "))
	}
}

// list checks that a list has elements, and each of them.
func list[T any](c *checker, path string, values []T, check func(path string, value T)) {
	if len(values) == 0 {
		c.problemf(path, "is empty; leave it out for the default, or name at least one")
	}
	for i, v := range values {
		check(jsontree.Index(path, i), v)
	}
}

func (c *checker) scenario(s *Scenario) {
	c.within("repeat", float64(s.Repeat), 1, 1000)
	c.duration("warm_up", s.WarmUp, 0)
	c.duration("measure", s.Measure, time.Second)
	list(c, "instances", s.Instances, func(path string, n int) { c.within(path, float64(n), 1, maxInstances) })
	list(c, "load", s.Load, func(path string, f float64) { c.within(path, f, 0.01, 100) })
	list(c, "gateways", s.Gateways, func(path string, n int) { c.within(path, float64(n), 1, maxGateways) })
	list(c, "share", s.Share, func(path, share string) { c.oneOf(path, share, ShareNothing, ShareCounts, ShareAll) })
	c.engine(&s.Engine)
	list(c, "kinds", s.Kinds, c.kind)
	for i, k := range s.Kinds {
		if slices.ContainsFunc(s.Kinds[:i], func(o Kind) bool { return o.Name == k.Name }) {
			c.problemf(jsontree.Index("kinds", i)+".name", "%q is there twice", k.Name)
		}
	}
	c.agents(&s.Agents)
	c.within("chat.per_second_per_instance", s.Chat.PerInstance, 0, 1e6)
	c.within("chat.prompt_tokens", s.Chat.PromptTokens, 1, 1e7)
	c.within("chat.answer_tokens", s.Chat.AnswerTokens, 1, 1e7)
	if s.Agents.PerInstance == 0 && s.Chat.PerInstance == 0 {
		c.problemf("", "has neither agents nor chat, so nothing would happen")
	}
	c.within("spread", s.Spread, 0, 4)
	list(c, "strategies", s.Strategies, c.strategy)
	c.oneOf("plot", s.Plot, AxisInstances, AxisLoad, AxisGateways, AxisShare, AxisStrategies)
}

func (c *checker) engine(e *Engine) {
	c.positive("engine.prefill_tokens_per_second", e.Prefill)
	c.positive("engine.decode_tokens_per_second", e.Decode)
	c.within("engine.slots", float64(e.Slots), 1, 1e5)
	c.within("engine.chunk_tokens", float64(e.ChunkTokens), 1, 1e7)
	c.within("engine.cache_tokens", float64(e.CacheTokens), 0, 1e12)
	if e.DecodeFull > e.Decode || e.DecodeFull*float64(e.Slots) < e.Decode {
		c.problemf("engine.decode_tokens_per_second_full",
			"%v is not possible: with %d slots each answer gets at most the %v of one alone, and all together no less",
			e.DecodeFull, e.Slots, e.Decode)
	}
}

func (c *checker) kind(path string, k Kind) {
	if k.Name == "" {
		c.problemf(path+".name", "is empty")
	}
	c.within(path+".part", float64(k.Part), 1, 1e6)
	c.within(path+".speed", k.Speed, 0.001, 1000)
	c.within(path+".weight", float64(k.Weight), 1, 1e6)
}

func (c *checker) agents(a *Agents) {
	c.within("agents.per_instance", a.PerInstance, 0, 1e4)
	c.within("agents.prefix_tokens", float64(a.PrefixTokens), 0, 1e7)
	c.within("agents.turns", a.Turns, 1, 1e6)
	c.within("agents.turn_tokens", a.TurnTokens, 1, 1e7)
	c.within("agents.answer_tokens", a.AnswerTokens, 1, 1e7)
	if least := float64(a.PrefixTokens) + a.TurnTokens + a.AnswerTokens; float64(a.ContextTokens) < least {
		c.problemf("agents.context_tokens", "%d has no room for a session's first turn, which is of about %.0f tokens",
			a.ContextTokens, least)
	}
	c.duration("agents.tool", a.Tool, 0)
	c.within("agents.burst", a.Burst, 1, 1e6)
	c.duration("agents.think", a.Think, time.Millisecond)
}

func (c *checker) strategy(path string, s Strategy) {
	votes := s.Affinity != nil || s.Load != nil || s.LoadPer != nil
	if s.By != "" {
		c.oneOf(path+".by", s.By, "target_weight", "round_robin")
	}
	switch {
	case s.By != "" && votes:
		c.problemf(path+".by", "leaves no say to the policies; leave it out, or their weights")
	case s.By == "" && !votes:
		c.problemf(path, "has neither by nor the weight of a policy: session_affinity, least_inflight or least_inflight_per_instance")
	case s.Load != nil && s.LoadPer != nil:
		c.problemf(path+".least_inflight", "is there in two ways; leave out it or least_inflight_per_instance")
	}
	for name, weight := range map[string]*float64{"session_affinity": s.Affinity, "least_inflight": s.Load,
		"least_inflight_per_instance": s.LoadPer} {
		if weight != nil {
			c.positive(path+"."+name, *weight)
		}
	}
	c.within(path+".max_inflight", float64(s.MaxInflight), 0, 1e9)
}
