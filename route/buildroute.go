package route

import (
	"slices"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
	"github.com/gpustack/gpustack-gateway/lb"
)

// route builds one route. What keeps it from serving is its Reason, and told as a problem.
func (b *builder) route(at string, e *Entry) *Route {
	l := b.defaults().with(&e.LimitsEntry)
	r := &Route{Name: e.Name, Description: e.Description, Categories: e.Categories, Access: e.access(),
		Timeouts: l.timeouts, Retry: l.retry, MaxBodyBytes: l.maxBodyBytes, DebugHeaders: b.file.Defaults.DebugHeaders, Queue: b.queue(e), Heartbeat: e.Heartbeat,
		InjectUsage: e.Usage != nil && *e.Usage == "inject"}
	if r.Access == AllowedUsers {
		r.users = make(map[string]bool, len(e.AllowedUsers))
		for _, user := range e.AllowedUsers {
			r.users[user] = true
		}
	}
	p := &poolBuilder{builder: b, route: r, at: at, config: lb.Config{Route: e.Name, Health: l.health,
		Fleet: b.options.Fleet, Rand: b.options.Rand}}
	p.addTargets(e.Targets)
	p.derive(e)
	r.Reason = strings.Join(p.reasons, "; ")
	if r.Reason == "" {
		r.Pool = lb.NewPool(p.config)
	} else {
		r.Upstreams, r.Fallbacks = nil, nil
	}
	return r
}

// queue returns how requests of a route wait.
func (b *builder) queue(e *Entry) Queue {
	if e.Queue == nil {
		return Queue{}
	}
	q := Queue{Line: b.options.Fleet.Queue(e.Name), Max: 100, Timeout: 10 * time.Second}
	set(&q.Max, e.Queue.Max)
	set(&q.Timeout, e.Queue.Timeout)
	return q
}

// poolBuilder builds the pools of one route.
type poolBuilder struct {
	*builder
	route   *Route
	at      string // the route's path
	config  lb.Config
	names   []string // of all targets so far, fallback targets among them
	models  []string // as policies call them
	reasons []string // why the route can't serve
}

// unusable says why the route can't serve, in a sentence of its own.
func (p *poolBuilder) unusable(path, reason string) {
	p.add(RouteError, p.route.Name, path, reason)
	p.reasons = append(p.reasons, reason)
}

// derive works out how the route chooses, and whether it can.
func (p *poolBuilder) derive(e *Entry) {
	weights := make([]int64, len(p.config.Targets))
	for i, t := range p.config.Targets {
		weights[i] = t.Weight
	}
	enabled := p.enabled(e.Policies)
	by, ok := routeBy(weights, len(enabled))
	p.route.By, p.config.By = by, by
	targets := jsontree.Field(p.at, "targets")
	switch {
	case len(e.Targets) == 0:
		p.unusable(targets, "there is no target")
	case len(weights) == 0:
		p.unusable(targets, "there are fallback targets only, and no target to choose")
	case !ok:
		p.unusable(targets, "some targets have a weight and some have not (0 is none)")
	case len(p.config.Candidates) == 0 && len(p.route.Fallbacks) == 0:
		p.unusable(targets, "no target's model has an instance")
	case len(p.config.Candidates) == 0:
		p.add(Warning, p.route.Name, targets, "have no instance, except for fallback targets, which serve alone")
	}
	p.config.Votes = p.votes(e.Policies, enabled, by == lb.Policy)
	if by == lb.TargetWeight && len(enabled) > 0 {
		p.add(Warning, p.route.Name, jsontree.Field(p.at, "policies"), "count for nothing, since the targets have weights")
	}
}

// addTargets builds the targets: of the main pool, and a pool for each fallback target.
func (p *poolBuilder) addTargets(entries []TargetEntry) {
	for i := range entries {
		e := &entries[i]
		candidates, ups := p.candidates(e)
		t := lb.Target{Name: p.targetName(e)}
		if len(e.FallbackStatusCodes) > 0 {
			c := p.config
			c.By, c.Targets, c.Candidates = lb.RoundRobin, []lb.Target{t}, candidates
			p.route.Fallbacks = append(p.route.Fallbacks, Fallback{Pool: lb.NewPool(c), Upstreams: ups,
				Codes: codesOf(e.FallbackStatusCodes)})
			continue
		}
		t.Weight = e.Weight
		for c := range candidates {
			candidates[c].Target = len(p.config.Targets)
		}
		p.config.Targets = append(p.config.Targets, t)
		p.config.Candidates = append(p.config.Candidates, candidates...)
		p.route.Upstreams = append(p.route.Upstreams, ups...)
		if name := e.Called(); name != "" && !slices.Contains(p.models, name) {
			p.models = append(p.models, name)
		}
	}
}
