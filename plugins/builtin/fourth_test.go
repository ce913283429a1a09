package builtin_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

// The plugin begins here: a request whose header says so prefers the instances of one model.

const preferSchema = `{ "type": "object", "description": "Prefers a model that the client names.",
	"properties": { "header": { "type": "string" }, "models": { "type": "array", "items": { "type": "string" } } } }`

type prefer struct {
	Header string   `json:"header"`
	Models []string `json:"models" jsontree:"required"`
}

func newPrefer() plugins.Kind {
	return plugins.Kind{Name: "prefer", Weight: 1, Schema: preferSchema, Build: func(s *plugins.Spec) lb.Voter {
		p := &prefer{Header: "x-prefer"}
		if !s.Decode(p) {
			return nil
		}
		for _, m := range p.Models {
			if !slices.Contains(s.Models(), m) {
				s.Problemf("models", "%q is not a model of the route; there are %s", m, strings.Join(s.Models(), ", "))
			}
		}
		return p
	}}
}

// Vote implements lb.Voter.
func (p *prefer) Vote(b *lb.Ballot) {
	wanted := string(b.Request.Header.Peek(p.Header))
	if !slices.Contains(p.Models, wanted) {
		return
	}
	for i := range b.Candidates {
		if b.Live[i] && b.Candidates[i].Model == wanted {
			b.Scores[i] = 1
		}
	}
}

// The plugin ends here.

const preferFile = `{
	"models": [
		{ "name": "small", "instances": [ { "name": "small-1", "url": "http://10.0.0.1" } ] },
		{ "name": "large", "instances": [ { "name": "large-1", "url": "http://10.0.0.2" } ] }
	],
	"routes": [ {
		"name": "r", "targets": [ { "model": "small" }, { "model": "large" } ],
		"policies": { "prefer": { "header": "X-Size", "models": [ "small", "large" ], "weight": 3 }, "least_inflight": {} }
	} ]
}`

type headers map[string]string

func (h headers) Peek(name string) []byte { return []byte(h[name]) }

// TestFourthPlugin shows that a plugin is what stands above and a line in the list: its configuration, its part of the
// schema, what it needs of the request, and its vote.
func TestFourthPlugin(t *testing.T) {
	kinds := append(builtin.All(nil), newPrefer())
	if err := plugins.Check(kinds); err != nil {
		t.Fatal(err)
	}
	if err := plugins.Check(append(kinds, newPrefer())); err == nil {
		t.Error("a name may be taken twice")
	}
	if schema := string(route.Schema(kinds)); !strings.Contains(schema, "Prefers a model that the client names.") {
		t.Error("its part of the schema is missing")
	}
	load := func(text string) (*route.Snapshot, []route.Problem) {
		f, problems := route.Parse("routes.json", []byte(text))
		if len(problems) > 0 {
			t.Fatal(problems)
		}
		return route.Build(f, route.Options{Kinds: kinds, Fleet: lb.NewFleet(rand.Uint64), Rand: rand.Uint64})
	}

	s, problems := load(preferFile)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	r := s.Route([]byte("r"))
	for size, want := range map[string]string{"small": "small-1", "large": "large-1"} {
		for range 20 {
			var l lb.Lease
			if err := r.Pool.Pick(&lb.Request{Header: headers{"X-Size": size}}, &l, time.Now()); err != nil {
				t.Fatal(err)
			}
			if got := r.Upstreams[l.Index()].Instance; got != want || l.By() != "prefer" {
				t.Errorf("%s is served by %s, decided by %q", size, got, l.By())
			}
			l.Done(lb.Served, time.Now())
		}
	}

	_, problems = load(strings.Replace(preferFile, `"small", "large" ], "w`, `"huge" ], "hedaer": 1, "w`, 1))
	if len(problems) != 1 || problems[0].String() != `routes.json:8:71: routes[0].policies.prefer.hedaer: is unknown here; allowed are header, models, enabled, weight` {
		t.Errorf("got %v", problems)
	}
	_, problems = load(strings.Replace(preferFile, `"small", "large" ], "w`, `"huge" ], "w`, 1))
	if len(problems) != 1 || problems[0].String() != `routes.json:8:59: routes[0].policies.prefer.models: "huge" is not a model of the route; there are small, large` {
		t.Errorf("got %v", problems)
	}
}
