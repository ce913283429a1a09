package plugins

import (
	"fmt"
	"slices"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

// Level says what a finding costs.
type Level uint8

// The levels.
const (
	Refused  Level = iota // nothing of the file is used
	Unusable              // the route can't serve
	Warning               // nothing
)

// Finding is something that a plugin has to say about its object.
type Finding struct {
	Level   Level
	Offset  int    // of the value at fault, in the text that holds the object
	Path    string // of it
	Message string // says of the value what is wrong with it and what is allowed
}

// SpecConfig is what a Spec is made of.
type SpecConfig struct {
	Route     string
	Object    *jsontree.Value // the policy's object
	Path      string          // where the object stands: "routes[0].policies.least_inflight"
	Models    []string        // see Spec.Models
	Providers []Provider      // of the file
}

// Spec is one policy object of one route, and what its plugin may ask about that route.
type Spec struct {
	config   SpecConfig
	findings []Finding
}

// NewSpec makes a Spec for a Kind to build from. A nil object is an empty one.
func NewSpec(c SpecConfig) *Spec {
	if c.Object == nil {
		c.Object = &jsontree.Value{Kind: jsontree.Object}
	}
	return &Spec{config: c}
}

// ParseSpec is NewSpec with the object given as its text, for whoever has no routes file, a plugin's test above all.
func ParseSpec(object string, c SpecConfig) (*Spec, error) {
	v, problems := jsontree.Parse([]byte(object))
	if len(problems) > 0 {
		return nil, fmt.Errorf("offset %d: %s: %s", problems[0].Offset, problems[0].Path, problems[0].Message)
	}
	c.Object = v
	return NewSpec(c), nil
}

// Findings returns what was reported so far, in the order in which it was.
func (s *Spec) Findings() []Finding { return slices.Clone(s.findings) }

// Decode decodes the object's own fields into a struct (by its json tags), strictly: an unknown field, a wrong type, a
// value out of range is reported as a problem with its path. It returns false if anything was. What is absent keeps the
// value it has. Durations, times and other types are written as jsontree.Decode says; the members enabled and weight,
// which every policy has, are not the plugin's and are passed over.
func (s *Spec) Decode(into any) bool {
	problems := jsontree.Decode(s.config.Object, s.config.Path, into, common...)
	for _, p := range problems {
		s.findings = append(s.findings, Finding{Refused, p.Offset, p.Path, p.Message})
	}
	return len(problems) == 0
}

// Problemf reports a problem at file level: the value at path below the policy's object ("session_keys[2].header") is
// not one. The message names the value and what is allowed.
func (s *Spec) Problemf(path, format string, args ...any) { s.find(Refused, path, format, args) }

// Unusablef reports a problem at route level: the policy lacks what it requires, so the route can't serve.
func (s *Spec) Unusablef(path, format string, args ...any) { s.find(Unusable, path, format, args) }

// Warnf reports what an operator should know, but changes nothing.
func (s *Spec) Warnf(path, format string, args ...any) { s.find(Warning, path, format, args) }

func (s *Spec) find(l Level, path, format string, args []any) {
	at, _ := s.config.Object.Find(path)
	s.findings = append(s.findings, Finding{l, at.Offset, jsontree.Join(s.config.Path, path), fmt.Sprintf(format, args...)})
}

// Route returns the name of the route.
func (s *Spec) Route() string { return s.config.Route }

// Models returns the distinct models among the route's candidates, in the order of the targets: the overridden name of
// a target that has one, else the model's name in the file. A target whose model has no instances at the moment counts.
func (s *Spec) Models() []string { return s.config.Models }

// Provider returns a provider of the file.
func (s *Spec) Provider(name string) (Provider, bool) {
	for _, p := range s.config.Providers {
		if p.Name == name {
			return p, true
		}
	}
	return Provider{}, false
}
