package route

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// enabled returns the policies that are switched on, and reports those that there are not.
func (p *poolBuilder) enabled(policies *jsontree.Value) map[string]bool {
	on := map[string]bool{}
	if policies == nil {
		return on
	}
	at := jsontree.Field(p.at, "policies")
	for i := range policies.Members {
		m := &policies.Members[i]
		path := jsontree.Field(at, m.Name)
		if !slices.ContainsFunc(p.options.Kinds, func(k plugins.Kind) bool { return k.Name == m.Name }) {
			p.addAt(FileError, p.route.Name, m.Offset, path, "is not a policy; there are "+p.kindNames())
			continue
		}
		enabled := true
		if v := m.Value.Member("enabled"); v != nil {
			p.decode(v, jsontree.Field(path, "enabled"), &enabled)
		}
		if enabled {
			on[m.Name] = true
		}
	}
	return on
}

func (p *poolBuilder) kindNames() string {
	var names []string
	for i := range p.options.Kinds {
		names = append(names, p.options.Kinds[i].Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (p *poolBuilder) decode(v *jsontree.Value, path string, into any) bool {
	problems := jsontree.Decode(v, path, into)
	for _, problem := range problems {
		p.addAt(FileError, p.route.Name, problem.Offset, problem.Path, problem.Message)
	}
	return len(problems) == 0
}

// votes builds the voters, in the order of the kinds. Those that are switched off, or do not count, are built as well:
// what is wrong with their form is wrong in any case.
func (p *poolBuilder) votes(policies *jsontree.Value, enabled map[string]bool, count bool) []lb.Weighted {
	var votes []lb.Weighted
	for i := range p.options.Kinds {
		k := &p.options.Kinds[i]
		object := policies.Member(k.Name)
		if object == nil || object.Kind != jsontree.Object {
			continue
		}
		path := jsontree.Field(jsontree.Field(p.at, "policies"), k.Name)
		weight := p.weight(object, path, k.Weight)
		voter := p.voter(k, object, path, count && enabled[k.Name])
		if voter != nil && enabled[k.Name] {
			votes = append(votes, lb.Weighted{Name: k.Name, Weight: weight, Voter: voter})
		}
	}
	return votes
}

func (p *poolBuilder) weight(object *jsontree.Value, path string, otherwise float64) float64 {
	weight := otherwise
	v := object.Member("weight")
	if v == nil || !p.decode(v, jsontree.Field(path, "weight"), &weight) {
		return otherwise
	}
	if weight <= 0 || math.IsInf(weight, 1) {
		p.addAt(FileError, p.route.Name, v.Offset, jsontree.Field(path, "weight"), fmt.Sprintf("%.60s is not over 0", v.Text))
	}
	return weight
}

// voter lets a plugin build its voter, and takes what it finds: of a policy that does not count only what is wrong with
// its form.
func (p *poolBuilder) voter(k *plugins.Kind, object *jsontree.Value, path string, counts bool) lb.Voter {
	s := plugins.NewSpec(plugins.SpecConfig{Route: p.route.Name, Object: object, Path: path, Models: p.models,
		Providers: p.services})
	voter, fault := build(k, s)
	explained := false
	for _, f := range s.Findings() {
		switch {
		case f.Level == plugins.Refused:
			explained = true
			p.addAt(FileError, p.route.Name, f.Offset, f.Path, f.Message)
		case f.Level == plugins.Unusable:
			explained = true
			if counts {
				p.addAt(RouteError, p.route.Name, f.Offset, f.Path, f.Message)
				p.reasons = append(p.reasons, strings.TrimPrefix(f.Path, p.at+".")+" "+f.Message)
			}
		case counts:
			p.addAt(Warning, p.route.Name, f.Offset, f.Path, f.Message)
		}
	}
	if voter == nil && fault == "" && !explained {
		fault = "it says nothing"
	}
	if fault != "" {
		p.addAt(FileError, p.route.Name, object.Offset, path, "the plugin can't be built from this: "+fault)
	}
	return voter
}

// build calls a plugin. A panic is a fault of it, and must not take the gateway down.
func build(k *plugins.Kind, s *plugins.Spec) (voter lb.Voter, fault string) {
	defer func() {
		if f := recover(); f != nil {
			voter, fault = nil, fmt.Sprintf("it panicked with %v", f)
		}
	}()
	return k.Build(s), ""
}
