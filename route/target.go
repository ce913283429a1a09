package route

import (
	"fmt"
	"slices"

	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/lb"
)

// asks returns the name that a target's upstreams are asked for, "" if the target is none, as Parse has told.
func (b *builder) asks(t *TargetEntry) string {
	is := t.identity()
	if m := b.models[is.name]; is.asks == "" && !is.provider && m != nil {
		return m.served()
	}
	return is.asks
}

// key returns the identity of a target for lb.CandidateKey. It depends on nothing but what the target says, so that
// sessions stay where they are whatever else changes. Names have no spaces, so no two targets have the same.
func (t target) key() string {
	kind := "model "
	if t.provider {
		kind = "provider "
	}
	if t.asks == "" {
		return kind + t.name
	}
	return kind + t.name + " " + t.asks
}

// targetName returns what a target is called in the pool: as its model or provider, and with the name that is asked for
// where another one of the route is called so. It is its identity for rotation, and what explain shows.
func (p *poolBuilder) targetName(e *TargetEntry) string {
	is := e.identity()
	name := is.name
	if slices.Contains(p.names, name) {
		name = fmt.Sprintf("%s (%s)", is.name, p.asks(e))
	}
	if slices.Contains(p.names, name) { // a model and a provider of one name, asked for the same one
		name = is.key()
	}
	p.names = append(p.names, name)
	return name
}

// candidates returns the candidates of a target, as those of the first target of a pool, and how they are reached.
func (b *builder) candidates(t *TargetEntry) ([]lb.Candidate, []Upstream) {
	is := t.identity()
	if is.provider {
		if p := b.providers[is.name]; p != nil {
			return b.provided(is, p)
		}
		return nil, nil
	}
	m := b.models[is.name]
	if m == nil {
		return nil, nil
	}
	var candidates []lb.Candidate
	var ups []Upstream
	for _, in := range m.Instances {
		a, base, err := parseURL(in.URL)
		if err != nil {
			continue
		}
		e := b.engine(identity(a, base))
		if a.BasePath = base; base == "" {
			a.BasePath = defaultBase
		}
		key := lb.CandidateKey(is.key(), in.Name)
		candidates = append(candidates, lb.Candidate{Instance: in.Name, Model: t.Called(), Key: key, Limit: e.limit,
			Engine: e.Engine})
		ups = append(ups, Upstream{Target: m.Name, Instance: in.Name, Key: key, Model: b.asks(t), Address: a})
	}
	return candidates, ups
}

// provided returns the candidate of a target that names a provider.
func (b *builder) provided(is target, p *ProviderEntry) ([]lb.Candidate, []Upstream) {
	up, id := b.reach(p)
	if id == "" {
		return nil, nil
	}
	e := b.engine(id)
	up.Key, up.Model = lb.CandidateKey(is.key(), p.Name), is.asks
	return []lb.Candidate{{Instance: p.Name, Model: is.asks, Key: up.Key, Limit: e.limit, Exempt: true,
		Engine: e.Engine}}, []Upstream{up}
}

// reach returns how a provider is reached, and what it is known by: "" if its endpoint is no URL, as Parse has told.
func (b *builder) reach(p *ProviderEntry) (up Upstream, id string) {
	a, base, err := parseURL(p.Endpoint)
	if err != nil {
		return up, ""
	}
	up = Upstream{Target: p.Name, Instance: p.Name, Address: a}
	switch {
	case decides(p.Type):
		up.Address.BasePath = base + "/v1" // their contract: POST {endpoint}/v1/systemone
	case base == "":
		up.Address.BasePath = defaultBase
	default:
		up.Address.BasePath = base
	}
	if token := b.tokens[p.Name]; !token.IsZero() {
		if p.Type == "anthropic" {
			up.Header, up.Credential = "x-api-key", token
		} else {
			up.Header, up.Credential = "Authorization", secret.New("Bearer "+token.Reveal())
		}
	}
	return up, identity(a, base)
}
