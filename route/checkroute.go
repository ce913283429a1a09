package route

import (
	"fmt"

	"github.com/gpustack/gpustack-gateway/internal/jsontree"
)

func (c *checker) checkRoute(at string, r *Entry) {
	c.name(at, r.Name, c.routes)
	c.texts(jsontree.Field(at, "categories"), r.Categories)
	c.checkAccess(at, r)
	targets := map[target]string{}
	for i := range r.Targets {
		c.checkTarget(jsontree.Index(jsontree.Field(at, "targets"), i), &r.Targets[i], targets)
	}
	policies := jsontree.Field(at, "policies")
	if p := r.Policies; p != nil && p.Kind != jsontree.Object {
		c.refuse(policies, p.Describe()+" is not an object")
	} else if p != nil {
		for _, m := range p.Members {
			if m.Value.Kind != jsontree.Object {
				c.refuse(jsontree.Field(policies, m.Name), m.Value.Describe()+" is not an object")
			}
		}
	}
	if q := r.Queue; q != nil {
		queue := jsontree.Field(at, "queue")
		if q.Max != nil && *q.Max < 1 {
			c.refuse(jsontree.Field(queue, "max"), fmt.Sprintf("%d is less than 1", *q.Max))
		}
		if q.Timeout != nil && *q.Timeout <= 0 {
			c.refuse(jsontree.Field(queue, "timeout"), fmt.Sprintf("%v is not more than 0", *q.Timeout))
		}
	}
	if r.Usage != nil {
		c.oneOf(jsontree.Field(at, "usage"), *r.Usage, []string{"read", "inject"})
	}
	c.checkLimits(at, &r.LimitsEntry)
}

func (c *checker) checkAccess(at string, r *Entry) {
	policy, users := jsontree.Field(at, "access_policy"), jsontree.Field(at, "allowed_users")
	c.texts(users, r.AllowedUsers)
	if r.AccessPolicy != nil {
		c.oneOf(policy, *r.AccessPolicy, accessNames[:])
	}
	switch {
	case r.access() == AllowedUsers && len(r.AllowedUsers) == 0:
		c.add(Warning, policy, "nobody may use the route, since allowed_users lists no user")
	case r.access() != AllowedUsers && r.AllowedUsers != nil:
		c.add(Warning, users, fmt.Sprintf("counts for nothing, since access_policy is %s", r.access()))
	case r.access() == AllowedUsers:
		c.checkUsers(users, r.AllowedUsers)
	}
}

// checkUsers warns of users whose key there is none of: they may be misspelt.
func (c *checker) checkUsers(at string, users []string) {
	if !c.complete("api_keys") {
		return
	}
	for i, user := range users {
		if user != "" && !c.users[user] {
			c.add(Warning, jsontree.Index(at, i), fmt.Sprintf("%.60q is the user of no API key", user))
		}
	}
}

// target is what makes two targets of a route one and the same.
type target struct {
	provider bool
	name     string // of the model or provider
	asks     string // overridden_model_name
}

func (c *checker) checkTarget(at string, t *TargetEntry, seen map[target]string) {
	if t.Weight < 0 {
		c.refuse(jsontree.Field(at, "weight"), fmt.Sprintf("%d is less than 0", t.Weight))
	}
	c.codes(jsontree.Field(at, "fallback_status_codes"), t.FallbackStatusCodes)
	if t.OverriddenModelName != nil {
		c.text(jsontree.Field(at, "overridden_model_name"), *t.OverriddenModelName)
	}
	is := t.identity()
	if !c.checkWho(at, t) || (is.provider || t.OverriddenModelName != nil) && is.asks == "" {
		return
	}
	if is.asks == "" {
		is.asks = c.served[is.name] // the same, whether it is written or not
	}
	if first, ok := seen[is]; ok {
		c.refuse(at, "is the same target as "+first)
		return
	}
	seen[is] = at
}

// checkWho checks whom a target names, and reports whether it is one.
func (c *checker) checkWho(at string, t *TargetEntry) bool {
	modelAt, providerAt := jsontree.Field(at, "model"), jsontree.Field(at, "provider")
	model, _ := c.given(modelAt, jsontree.String)
	provider, _ := c.given(providerAt, jsontree.String)
	switch {
	case model && provider:
		c.refuse(at, "names both a model and a provider; exactly one is allowed")
		return false
	case !model && !provider:
		if _, object := c.given(at, jsontree.Object); object {
			c.refuse(at, "must name a model or a provider")
		}
		return false
	case t.Model != nil:
		return c.refers(modelAt, *t.Model, "model", c.models, "provider", c.providers)
	case t.Provider != nil:
		overriddenAt := jsontree.Field(at, "overridden_model_name")
		if given, _ := c.given(overriddenAt, jsontree.String); !given {
			c.refuse(overriddenAt, "is required for a provider: the name of the model to ask it for")
		}
		return c.refers(providerAt, *t.Provider, "provider", c.providers, "model", c.models)
	}
	return false
}

// refers checks that there is what a target names.
func (c *checker) refers(at, name, kind string, known map[string]string, other string, others map[string]string) bool {
	if _, ok := known[name]; ok {
		return true
	}
	switch first, ok := others[name]; {
	case !c.complete(kind + "s"):
	case ok:
		c.refuse(at, fmt.Sprintf("%.60q is not a %s of this file, but a %s (%s)", name, kind, other, first))
	default:
		c.refuse(at, fmt.Sprintf("%.60q is not a %s of this file", name, kind))
	}
	return false
}

// identity returns what the target is told from others by.
func (t *TargetEntry) identity() target {
	var is target
	if t.OverriddenModelName != nil {
		is.asks = *t.OverriddenModelName
	}
	if t.Provider != nil {
		is.provider, is.name = true, *t.Provider
	} else if t.Model != nil {
		is.name = *t.Model
	}
	return is
}
