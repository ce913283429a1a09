package route

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// keysOf returns the identity of every candidate of every route, by route, target, model and instance.
func keysOf(s *Snapshot) map[string]uint64 {
	keys := map[string]uint64{}
	for _, r := range s.Routes() {
		if r.Pool == nil {
			continue
		}
		for i, c := range r.Pool.Candidates() {
			u := r.Upstreams[i]
			keys[fmt.Sprintf("%s %s %s %s", r.Name, u.Target, u.Model, u.Instance)] = c.Key
		}
	}
	return keys
}

const identityFile = `{
	"models": [
		{ "name": "a", "instances": [ { "name": "a-1", "url": "http://10.0.0.1:8000" }, { "name": "a-2", "url": "http://10.0.0.2:8000" } ] },
		{ "name": "b", "instances": [ { "name": "a-1", "url": "http://10.0.0.1:8000" } ] }
	],
	"providers": [ { "name": "a", "type": "openai", "endpoint": "http://10.0.0.1:8000" } ],
	"routes": [
		{ "name": "r", "targets": [
			{ "model": "a" },
			{ "model": "a", "overridden_model_name": "a:lora" },
			{ "model": "a", "overridden_model_name": "a:other" },
			{ "model": "b" },
			{ "provider": "a", "overridden_model_name": "a:lora" },
			{ "provider": "a", "overridden_model_name": "a:other" }
		] },
		{ "name": "alone", "targets": [ { "model": "a" } ] }
	]
}`

// Test that a candidate is known by its target and instance and by nothing else, so that no edit moves the sessions of
// candidates that it does not concern. Two targets may share a model and differ in the name that is asked for only.
func TestC043Identity(t *testing.T) {
	s := mustBuild(t, identityFile, testOptions())
	keys := keysOf(s)
	seen := map[uint64]string{}
	for what, key := range keys {
		if !strings.HasPrefix(what, "r ") {
			continue
		}
		if other, ok := seen[key]; ok {
			t.Errorf("%s and %s have the same identity", what, other)
		}
		seen[key] = what
	}
	if len(seen) != 9 {
		t.Errorf("%d candidates: %v", len(seen), seen)
	}
	// These decide where every session is that is running somewhere, so they are part of what a release promises.
	for what, want := range map[string]uint64{
		"r a a a-1":      lb.CandidateKey("model a", "a-1"),
		"r a a:lora a-2": lb.CandidateKey("model a a:lora", "a-2"),
		"r a a:lora a":   lb.CandidateKey("provider a a:lora", "a"),
	} {
		if keys[what] != want {
			t.Errorf("%s has the identity %d, want %d", what, keys[what], want)
		}
	}
	// Nothing else that is edited moves them.
	for old, edited := range map[string]string{
		`{ "model": "a" },` + "\n": "",
		`http://10.0.0.2:8000`:     `https://elsewhere:9000/v1`,
		`"name": "r"`:              `"name": "r", "policies": { "least_inflight": {} }`,
		`{ "name": "b", "inst`:     `{ "name": "b", "served_model_name": "b-8bit", "inst`,
		`{ "name": "a-1", "url"`:   `{ "name": "a-0", "url": "http://10.0.0.9" }, { "name": "a-1", "url"`,
	} {
		text := strings.ReplaceAll(identityFile, old, edited)
		if text == identityFile {
			t.Fatalf("%q is not in the file", old)
		}
		for what, key := range keysOf(mustBuild(t, text, testOptions())) {
			if was, ok := keys[what]; ok && was != key {
				t.Errorf("%q instead of %q changes the identity of %s", edited, old, what)
			}
		}
	}
	if alone, shared := keys["alone a a a-1"], keys["r a a a-1"]; alone != shared {
		t.Error("the identity depends on the route")
	}
}

// Test that targets with one address that differ in the name that is asked for stay apart.
func TestC038SameAddress(t *testing.T) {
	s := mustBuild(t, `{
		"models": [ { "name": "base", "instances": [ { "name": "1", "url": "http://h:8000" } ] }, { "name": "other", "instances": [ { "name": "1", "url": "http://h:8000" } ] } ],
		"routes": [ { "name": "r", "targets": [
			{ "model": "base", "weight": 25 }, { "model": "base", "overridden_model_name": "lora-a", "weight": 25 },
			{ "model": "base", "overridden_model_name": "lora-b", "weight": 25 }, { "model": "other", "weight": 25 }
		] } ]
	}`, testOptions())
	r := s.Routes()[0]
	asked := map[string]int{}
	for range 200 {
		var request lb.Request
		var l lb.Lease
		if err := r.Pool.Pick(&request, &l, time.Now()); err != nil {
			t.Fatal(err)
		}
		asked[r.Upstreams[l.Index()].Model]++
		l.Done(lb.Served, time.Now())
	}
	for _, model := range []string{"base", "lora-a", "lora-b", "other"} {
		if asked[model] != 50 {
			t.Errorf("got %v, want 50 each", asked)
		}
	}
}

// Test that entries with one url are one engine, in whatever models and however it is written, and that providers are
// as well.
func TestEngines(t *testing.T) {
	s := mustBuild(t, `{
		"models": [
			{ "name": "a", "instances": [ { "name": "1", "url": "http://h:80", "max_inflight": 3 }, { "name": "2", "url": "http://h:81" } ] },
			{ "name": "b", "instances": [ { "name": "1", "url": "HTTP://H/v1/", "max_inflight": 3 }, { "name": "2", "url": "http://h/v2" } ] }
		],
		"providers": [ { "name": "p", "type": "openai", "endpoint": "http://h" } ],
		"routes": [
			{ "name": "r", "targets": [ { "model": "a" }, { "model": "b" }, { "provider": "p", "overridden_model_name": "x" } ] },
			{ "name": "s", "targets": [ { "model": "b" }, { "model": "a", "fallback_status_codes": [ "5xx" ] } ] }
		]
	}`, testOptions())
	r, other := s.Routes()[0].Pool.Candidates(), s.Routes()[1]
	one := r[0].Engine
	for what, c := range map[string]lb.Candidate{"b": r[2], "the provider": r[4], "route s": other.Pool.Candidates()[0],
		"the fallback": other.Fallbacks[0].Pool.Candidates()[0]} {
		if c.Engine != one || c.Limit != 3 {
			t.Errorf("%s has another engine: %s, limit %d", what, c.Engine.URL(), c.Limit)
		}
	}
	for _, i := range []int{1, 3} {
		if r[i].Engine == one || r[i].Limit != 0 {
			t.Errorf("candidate %d has the engine of another url", i)
		}
	}
	if !r[4].Exempt || r[0].Exempt {
		t.Error("a provider is exempt, and nobody else")
	}
	if len(s.engines) != 3 {
		t.Errorf("%d engines, want 3", len(s.engines))
	}
}

// Test that the targets of a route are called so that no two are called the same, fallback targets among them.
func TestTargetNames(t *testing.T) {
	s := mustBuild(t, strings.Replace(identityFile, `{ "model": "b" }`, `{ "model": "b" }, { "model": "b", "overridden_model_name": "b:lora", "fallback_status_codes": [ "5xx" ] }`, 1), testOptions())
	var names []string
	for _, target := range s.Routes()[0].Pool.Targets() {
		names = append(names, target.Name)
	}
	names = append(names, s.Routes()[0].Fallbacks[0].Pool.Targets()[0].Name)
	want := []string{"a", "a (a:lora)", "a (a:other)", "b", "provider a a:lora", "provider a a:other", "b (b:lora)"}
	if !slices.Equal(names, want) {
		t.Errorf("got %q, want %q", names, want)
	}
}

// Test that a route without instances in its fallback serves, and that its fallback can be asked in vain.
func TestEmptyFallback(t *testing.T) {
	s := mustBuild(t, `{ "models": [ { "name": "m", "instances": [ { "name": "1", "url": "http://h" } ] }, { "name": "none", "instances": [] } ],
		"routes": [ { "name": "r", "targets": [ { "model": "m" }, { "model": "none", "fallback_status_codes": [ "5xx" ] } ] } ] }`, testOptions())
	var l lb.Lease
	if err := s.Routes()[0].Fallbacks[0].Pool.Pick(&lb.Request{}, &l, s.Loaded); err == nil {
		t.Error("somebody was picked")
	}
}

// silent is a policy that abstains.
type silent struct{}

func (silent) Vote(*lb.Ballot) {}

func kind(name string, build func(s *plugins.Spec) lb.Voter) plugins.Kind {
	return plugins.Kind{Name: name, Weight: 2, Schema: `{"type": "object"}`, Build: build}
}

func policyFile(policies string) string {
	return `{ "models": [ { "name": "m", "served_model_name": "M", "instances": [ { "name": "1", "url": "http://h" } ] }, { "name": "n", "instances": [] } ],
		"providers": [ { "name": "p", "type": "typesafe", "endpoint": "https://H.example:443/api/", "api_token": "t", "models": [ "x" ] } ],
		"routes": [ { "name": "r", "targets": [
			{ "model": "m" }, { "model": "m", "overridden_model_name": "m:lora" }, { "model": "n" }, { "provider": "p", "overridden_model_name": "M" },
			{ "provider": "p", "overridden_model_name": "last", "fallback_status_codes": [ "5xx" ] }
		], "policies": ` + policies + ` } ] }`
}

// Test what a plugin is told when it builds a voter.
func TestPluginSpec(t *testing.T) {
	o := testOptions()
	built := 0
	o.Kinds = []plugins.Kind{kind("first", func(s *plugins.Spec) lb.Voter {
		built++
		var c struct {
			Limit int `json:"limit"`
		}
		if !s.Decode(&c) || c.Limit != 3 {
			t.Errorf("decoded %+v", c)
		}
		if s.Route() != "r" || !slices.Equal(s.Models(), []string{"m", "m:lora", "n", "M"}) {
			t.Errorf("route %q, models %q", s.Route(), s.Models())
		}
		p, ok := s.Provider("p")
		if !ok || p.Endpoint != "https://h.example/api" || p.Token.Reveal() != "t" || p.Type != "typesafe" || !slices.Equal(p.Models, []string{"x"}) {
			t.Errorf("provider %+v, %v", p, ok)
		}
		return silent{}
	}), kind("second", func(*plugins.Spec) lb.Voter { return silent{} })}
	s := mustBuild(t, policyFile(`{ "second": { "weight": 0.5 }, "first": { "limit": 3, "enabled": true } }`), o)
	votes := s.Routes()[0].Pool.Votes()
	if built != 1 || len(votes) != 2 || votes[0].Name != "first" || votes[0].Weight != 2 || votes[1].Name != "second" || votes[1].Weight != .5 {
		t.Errorf("built %d times, votes %+v", built, votes)
	}
}

// broken is a plugin with a mistake in it.
func broken(s *plugins.Spec) lb.Voter {
	if s.Models()[len(s.Models())] == "" {
		return nil
	}
	return silent{}
}

// Test that whatever a plugin does while it is built, the gateway lives and the file says what is wrong.
func TestC123PluginFails(t *testing.T) {
	for want, build := range map[string]func(s *plugins.Spec) lb.Voter{
		`routes[0].policies.bad: the plugin can't be built from this: it panicked with oh`:                                                  func(*plugins.Spec) lb.Voter { panic("oh") },
		`routes[0].policies.bad: the plugin can't be built from this: it panicked with runtime error: index out of range [4] with length 4`: broken,
		`routes[0].policies.bad: the plugin can't be built from this: it says nothing`:                                                      func(*plugins.Spec) lb.Voter { return nil },
		`routes[0].policies.bad.x: is wrong`: func(s *plugins.Spec) lb.Voter { s.Problemf("x", "is wrong"); return silent{} },
	} {
		o := testOptions()
		o.Kinds = []plugins.Kind{kind("bad", build)}
		s, problems := Load("f", []byte(policyFile(`{ "bad": { "x": 1 } }`)), o)
		if s != nil || len(problems) != 1 || problems[0].Level != FileError || !strings.Contains(problems[0].String(), want) {
			t.Errorf("got %v, want %s", problems, want)
		}
	}
}

// Test that Build says what else is wrong with a file that Parse has found fault with.
func TestBuildAfterRefusal(t *testing.T) {
	f, problems := Parse("f", []byte(`{ "providers": [ { "name": "p", "type": "x", "endpoint": "http://h", "api_token": "${UNSET}" } ], "routes": [ { "name": "r", "targets": [] } ] }`))
	if f == nil || len(problems) != 1 {
		t.Fatal(problems)
	}
	s, more := Build(f, testOptions())
	if s != nil || len(more) != 1 || more[0].Path != "providers[0].api_token" {
		t.Errorf("got %v, %v", s, more)
	}
}

// Test that whoever looks at a parsed file can't see a token.
func TestFileKeepsSecrets(t *testing.T) {
	f, problems := Parse("f", []byte(`{ "providers": [ { "name": "p", "type": "openai", "endpoint": "http://h", "api_token": "sk-hunter2" } ] }`))
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	encoded, err := json.Marshal(f.Providers)
	if text := fmt.Sprintf("%v %+v %#v %s %v", f.Providers, f.Providers[0], f.Providers[0].APIToken, encoded, err); strings.Contains(text, "hunter2") {
		t.Error(text)
	}
}

// Test that a problem says which route it concerns.
func TestProblemRoute(t *testing.T) {
	_, problems := Load("f", []byte(`{ "models": [ 1 ], "routes": [ { "name": "a", "targets": [ 1 ] }, { "name": "b", "weight": 1, "targets": [] }, { "targets": [ { "model": "x", "weight": -1 } ] } ] }`), testOptions())
	var got []string
	for _, p := range problems {
		got = append(got, p.Route+" "+p.Path)
	}
	want := []string{" models[0]", "a routes[0].targets[0]", "b routes[1].weight", " routes[2].name", " routes[2].targets[0].weight"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
