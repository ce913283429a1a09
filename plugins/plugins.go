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

// Spec is one policy object of one route, and what its plugin may ask about that route.
type Spec struct{}

// Decode decodes the object's own fields into a struct (by its json tags), strictly: an unknown field, a wrong type, a
// value out of range is reported as a problem with its path. It returns false if anything was.
func (s *Spec) Decode(into any) bool { return true }

// Problemf reports a problem at file level: the value at path below the policy's object ("session_keys[2].header") is
// not one. The message names the value and what is allowed.
func (s *Spec) Problemf(path, format string, args ...any) {}

// Unusablef reports a problem at route level: the policy lacks what it requires, so the route can't serve.
func (s *Spec) Unusablef(path, format string, args ...any) {}

// Warnf reports what an operator should know, but changes nothing.
func (s *Spec) Warnf(path, format string, args ...any) {}

// Route returns the name of the route.
func (s *Spec) Route() string { return "" }

// Models returns the distinct model names among the route's candidates, in the order of the targets: the names that
// upstreams are asked for.
func (s *Spec) Models() []string { return nil }

// Provider returns a provider of the file.
func (s *Spec) Provider(name string) (Provider, bool) { return Provider{}, false }

// Provider is an external service as a plugin may use it.
type Provider struct {
	Name     string
	Type     string // "openai", "anthropic", "typesafe" or "systemone"
	Endpoint string // base URL, validated, without a slash at its end
	Models   []string
	Token    secret.String // zero if it has none
}
