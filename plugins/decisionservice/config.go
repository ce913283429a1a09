package decisionservice

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/plugins"
)

// What a policy does that does not say otherwise.
const (
	defaultTimeout      = 3 * time.Second
	defaultKeep         = time.Minute
	defaultMaxState     = 64 << 10
	defaultInstructions = "The state is a request to a language model. Choose the model that should answer it: the smallest " +
		"and fastest one that will do it well, and a larger one only where the task needs it."
)

// largestState bounds max_state_bytes. Services take some 64 thousand tokens at most, which are fewer bytes than this.
const largestState = 1 << 20

const schema = `{
  "type": "object",
  "description": "Asks a decision service which model should serve a request.",
  "properties": {
    "provider": { "description": "Who is asked: a provider of type typesafe or systemone.", "type": "string", "minLength": 1 },
    "model": { "description": "The decision model to ask for, one that the provider offers. Without it the policy abstains.", "type": "string" },
    "instructions": { "description": "How to choose, for the decision model. Default, also if empty: the smallest model that does it well.", "type": "string" },
    "criteria": {
      "description": "What each model of the route is good for, by model name (for a provider target, its overridden_model_name). A model that is not here is offered without a description.",
      "type": "object",
      "minProperties": 1,
      "additionalProperties": { "type": "string", "pattern": "\\S" }
    },
    "timeout": { "description": "How long a request waits for the service: a Go duration over 0.", "type": "string", "default": "3s" },
    "max_state_bytes": { "description": "How much of the request's text the service is told, the newest of it.", "type": "integer", "minimum": 1, "maximum": 1048576, "default": 65536 },
    "cache_ttl": { "description": "How long an answer to the same question is used again: a Go duration, 0 turns it off.", "oneOf": [ { "type": "string" }, { "const": 0 } ], "default": "60s" }
  }
}`

type config struct {
	Provider      string            `json:"provider"`
	Model         string            `json:"model"`
	Instructions  string            `json:"instructions"`
	Criteria      map[string]string `json:"criteria"`
	Timeout       time.Duration     `json:"timeout"`
	MaxStateBytes int               `json:"max_state_bytes"`
	CacheTTL      time.Duration     `json:"cache_ttl"`
}

func defaults() config {
	return config{Timeout: defaultTimeout, MaxStateBytes: defaultMaxState, CacheTTL: defaultKeep}
}

// voter makes the policy, and reports what is wrong with its configuration. It is nil if it can't be made.
func (c *config) voter(s *plugins.Spec, asker Asker) *voter {
	if c.Timeout <= 0 {
		s.Problemf("timeout", "%v is not over 0", c.Timeout)
	}
	if c.MaxStateBytes < 1 || c.MaxStateBytes > largestState {
		s.Problemf("max_state_bytes", "%d is not from 1 to %d", c.MaxStateBytes, largestState)
	}
	if strings.TrimSpace(c.Instructions) == "" { // as absent: an editor's empty field
		c.Instructions = defaultInstructions
	}
	c.checkCriteria(s)
	p, ok := c.provider(s)
	if !ok || len(c.Criteria) == 0 {
		return nil
	}
	return &voter{
		asker:    asker,
		question: Question{Service: p.Name, Endpoint: p.Endpoint, Token: p.Token, Timeout: c.Timeout, Keep: c.CacheTTL},
		form:     newForm(c.Model, c.Instructions, c.Criteria),
		maxState: c.MaxStateBytes,
		mute:     c.muted(s, p),
	}
}

// provider returns the service to ask.
func (c *config) provider(s *plugins.Spec) (plugins.Provider, bool) {
	if c.Provider == "" {
		s.Unusablef("provider", "is required: the name of a provider of type typesafe or systemone")
		return plugins.Provider{}, false
	}
	p, ok := s.Provider(c.Provider)
	switch {
	case !ok:
		s.Problemf("provider", "%.60q is not a provider of this file", c.Provider)
	case p.Type != "typesafe" && p.Type != "systemone":
		s.Problemf("provider", "%.60q is of type %s; one of type typesafe or systemone is needed", c.Provider, p.Type)
		ok = false
	}
	return p, ok
}

// muted returns why the policy will abstain from every vote, and warns of it. It is empty if the policy can vote.
func (c *config) muted(s *plugins.Spec, p plugins.Provider) string {
	var why string
	switch {
	case c.Model == "":
		why = "no decision model is configured"
	case len(p.Models) > 0 && !slices.Contains(p.Models, c.Model):
		why = fmt.Sprintf("the provider %.60q does not offer the decision model %.60q", p.Name, c.Model)
	default:
		return ""
	}
	s.Warnf("model", "%s, so the policy abstains", why)
	return why
}

// checkCriteria reports what is wrong with the criteria.
func (c *config) checkCriteria(s *plugins.Spec) {
	if len(c.Criteria) == 0 {
		s.Unusablef("criteria", "is required: at least one model's name with a description of what it is good for")
		return
	}
	models := s.Models()
	for _, name := range slices.Sorted(maps.Keys(c.Criteria)) {
		at := "criteria[" + strconv.Quote(name) + "]"
		if strings.TrimSpace(c.Criteria[name]) == "" {
			s.Problemf(at, "is empty; describe what the model is good for, or leave it out")
		}
		if !slices.Contains(models, name) {
			s.Warnf(at, "%.60q is no model of the route; its models are %s", name, quoted(models))
		}
	}
	if len(models) == 1 {
		s.Warnf("", "every target of the route asks for %.60q, so there is nothing to decide and the policy abstains", models[0])
	}
}

// quoted lists names, the first few of them.
func quoted(names []string) string {
	const most = 8
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, fmt.Sprintf("%.60q", name))
	}
	if len(names) > most {
		list = append(list, "...")
	}
	return strings.Join(list, ", ")
}
