// Package plugins says what a policy plugin is to the configuration: a name, a default weight, a schema and a way to
// build a voter from its JSON object. What a plugin is to the balancer is lb.Voter.
package plugins

import (
	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/lb"
)

// Kind is a plugin as the configuration sees it, and the home of what it remembers for the life of the process (in
// the closure of Build).
type Kind struct {
	Name   string                 // key under "policies", and its name in metrics and explain
	Weight float64                // default weight
	Schema string                 // JSON Schema (an object schema's text) of its own fields, without enabled and weight
	Build  func(s *Spec) lb.Voter // decodes, defaults, validates, makes; reports problems to s and may then return nil
}

// Provider is an external service as a plugin may use it.
type Provider struct {
	Name     string
	Type     string // "openai", "anthropic", "typesafe" or "systemone"
	Endpoint string // base URL, validated, without a slash at its end
	Models   []string
	Token    secret.String // zero if it has none
}
