package route

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// Options are what a snapshot is built with.
type Options struct {
	Kinds     []plugins.Kind // the policies that there are; see plugins.Check
	Fleet     *lb.Fleet
	Rand      lb.Rand
	LookupEnv func(name string) (string, bool)
	OnSwap    func(*Snapshot) // called after a new snapshot serves, before Reload returns; may be nil
}

// Load makes a snapshot of a file's text and tells all that is wrong with it, sorted by place: Parse and Build in one. The
// snapshot is nil if there is a problem at file level.
func Load(name string, data []byte, o Options) (*Snapshot, []Problem) {
	f, problems := Parse(name, data)
	if f == nil {
		return nil, problems
	}
	s, more := Build(f, o)
	problems = append(problems, more...)
	sortProblems(problems)
	if s != nil {
		s.text, s.problems = data, problems
	}
	return s, problems
}

// Build makes a snapshot of a file, and tells what is wrong beyond what Parse told, sorted by place. The snapshot is nil
// if something is wrong at file level, as Parse found it or as Build does. The fleet knows its engines only after Adopt.
func Build(f *File, o Options) (*Snapshot, []Problem) {
	b := &builder{file: f, options: o, snapshot: &Snapshot{providers: map[string]Upstream{}}, tokens: map[string]secret.String{},
		models: map[string]*ModelEntry{}, providers: map[string]*ProviderEntry{}, engines: map[string]*engine{}}
	b.readServices()
	b.snapshot.byName = make(map[string]*Route, len(f.Routes))
	addresses := map[Address]bool{}
	for i := range f.Routes {
		r := b.route(jsontree.Index("routes", i), &f.Routes[i])
		b.snapshot.routes = append(b.snapshot.routes, r)
		b.snapshot.byName[r.Name] = r
		b.snapshot.Public = b.snapshot.Public || r.Public()
		b.collect(r, addresses)
	}
	b.snapshot.MaxBodyBytes = b.largestBody()
	b.readKeys()
	for _, e := range b.engines {
		b.snapshot.engines = append(b.snapshot.engines, e.Engine)
	}
	if f.refused {
		// What else there is to say of the routes may follow from what is wrong, and there will be no routes anyway.
		b.problems = slices.DeleteFunc(b.problems, func(p Problem) bool { return p.Level != FileError })
	}
	sortProblems(b.problems)
	if f.refused || refused(b.problems) {
		return nil, b.problems
	}
	return b.snapshot, b.problems
}

// builder turns a file into a snapshot.
type builder struct {
	file     *File
	options  Options
	snapshot *Snapshot
	problems []Problem

	models    map[string]*ModelEntry
	providers map[string]*ProviderEntry
	tokens    map[string]secret.String // by provider
	services  []plugins.Provider       // as plugins may use them
	engines   map[string]*engine       // by identity
}

// engine is an engine, or a provider, and its cap.
type engine struct {
	*lb.Engine
	limit int64
}

// add reports a problem with the value at a path.
func (b *builder) add(l Level, route, path, message string) {
	at, _ := b.file.root.Find(path)
	b.addAt(l, route, at.Offset, path, message)
}

func (b *builder) addAt(l Level, route string, offset int, path, message string) {
	p := jsontree.Problem{Offset: offset, Path: path, Message: message}
	b.problems = append(b.problems, b.file.text.problem(l, route, p))
}

// readServices reads the models and providers.
func (b *builder) readServices() {
	for i := range b.file.Models {
		m := &b.file.Models[i]
		b.models[m.Name] = m
		for _, in := range m.Instances {
			if a, base, err := parseURL(in.URL); err == nil {
				e := b.engine(identity(a, base))
				e.limit = in.MaxInflight
				b.check(m.HealthCheck, a, e)
			}
		}
	}
	for i := range b.file.Providers {
		p := &b.file.Providers[i]
		b.providers[p.Name] = p
		token := b.token(jsontree.Field(jsontree.Index("providers", i), "api_token"), &p.APIToken)
		b.tokens[p.Name] = token
		b.snapshot.providers[p.Name], _ = b.reach(p)
		if a, base, err := parseURL(p.Endpoint); err == nil {
			b.services = append(b.services, plugins.Provider{Name: p.Name, Type: p.Type, Endpoint: a.origin() + base,
				Models: p.Models, Token: token})
		}
	}
}

// check notes how an engine is asked whether it is well.
func (b *builder) check(e *HealthCheckEntry, a Address, of *engine) {
	if e == nil {
		return
	}
	c := Check{Engine: of.Engine, URL: a.origin() + e.Path, Interval: e.interval()}
	if !slices.Contains(b.snapshot.checks, c) {
		b.snapshot.checks = append(b.snapshot.checks, c)
	}
}

// token returns a provider's credential.
func (b *builder) token(at string, t *Token) secret.String {
	if t.variable == "" {
		return t.literal
	}
	value, ok := b.options.LookupEnv(t.variable)
	switch {
	case !ok:
		b.add(FileError, "", at, fmt.Sprintf("the environment variable %s is not set", t.variable))
	case value == "":
		b.add(FileError, "", at, fmt.Sprintf("the environment variable %s is empty", t.variable))
	case !sendable(value):
		b.add(FileError, "", at, fmt.Sprintf("the value of the environment variable %s %s", t.variable, notSendable))
	default:
		return secret.New(value)
	}
	return secret.String{}
}

// engine returns the engine of an identity, always the same one.
func (b *builder) engine(id string) *engine {
	e := b.engines[id]
	if e == nil {
		e = &engine{Engine: b.options.Fleet.Engine(id)}
		b.engines[id] = e
	}
	return e
}

func (b *builder) readKeys() {
	b.snapshot.keys = make(map[[sha256.Size]byte]*key, len(b.file.Keys))
	for i := range b.file.Keys {
		e := &b.file.Keys[i]
		sum, err := hex.DecodeString(e.SHA256)
		if err != nil || len(sum) != sha256.Size {
			continue // as Parse has told
		}
		k := &key{name: e.Name, user: e.User}
		if e.ExpiresAt != nil {
			k.expires = *e.ExpiresAt
		}
		if e.AllowedRoutes != nil {
			k.routes = make(map[string]bool, len(e.AllowedRoutes))
			for _, name := range e.AllowedRoutes {
				k.routes[name] = true
			}
		}
		b.snapshot.keys[[sha256.Size]byte(sum)] = k
	}
}

// collect notes where a route sends requests.
func (b *builder) collect(r *Route, seen map[Address]bool) {
	note := func(ups []Upstream) {
		for i := range ups {
			if a := ups[i].Address; !seen[a] {
				seen[a] = true
				b.snapshot.addresses = append(b.snapshot.addresses, a)
			}
		}
	}
	note(r.Upstreams)
	for i := range r.Fallbacks {
		note(r.Fallbacks[i].Upstreams)
	}
}

// largestBody returns the largest body that any route takes, 0 if one takes any.
func (b *builder) largestBody() int64 {
	if len(b.snapshot.routes) == 0 {
		return b.defaults().maxBodyBytes
	}
	var largest int64
	for _, r := range b.snapshot.routes {
		if r.MaxBodyBytes == 0 {
			return 0
		}
		largest = max(largest, r.MaxBodyBytes)
	}
	return largest
}

func (b *builder) defaults() limits { return builtinLimits().with(&b.file.Defaults.LimitsEntry) }
