package decisionservice

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/plugins"
)

var surroundings = plugins.SpecConfig{
	Route: "qwen3", Path: "p", Models: []string{"qwen3-0.6b", "qwen3-32b"},
	Providers: []plugins.Provider{
		{Name: "jev", Type: "typesafe", Endpoint: "https://jev.example", Models: []string{"jev-latest"}, Token: secret.New("t0ken")},
		{Name: "any", Type: "systemone", Endpoint: "https://any.example/api"},
		{Name: "chat", Type: "openai", Endpoint: "https://chat.example/v1"},
	},
}

// build returns the voter of an object, nil if there is none, and what was reported.
func build(t *testing.T, object string, c plugins.SpecConfig) (*voter, string) {
	t.Helper()
	s, err := plugins.ParseSpec(object, c)
	if err != nil {
		t.Fatal(err)
	}
	built := New(nil).Build(s)
	var lines []string
	for _, f := range s.Findings() {
		lines = append(lines, fmt.Sprintf("%d %s: %s", f.Level, f.Path, f.Message))
	}
	v, _ := built.(*voter)
	if v == nil && built != nil {
		t.Error("a nil voter that is not nil")
	}
	return v, strings.Join(lines, "\n")
}

func TestBuild_Findings(t *testing.T) {
	const criteria = `"criteria": {"qwen3-32b": "math"}`
	tests := []struct {
		name, object, want string
		made               bool
	}{
		{"all of it", `{"provider": "jev", "model": "jev-latest", "instructions": "x", "criteria": {"qwen3-0.6b": "a", "qwen3-32b": "b"},
			"timeout": "500ms", "max_state_bytes": 1, "cache_ttl": 0, "weight": 2, "enabled": true}`, "", true},
		{"what is required", `{"provider": "any", "model": "m", ` + criteria + `}`, "", true},
		{"nothing", `{}`, "1 p.criteria: is required: at least one model's name with a description of what it is good for\n" +
			"1 p.provider: is required: the name of a provider of type typesafe or systemone", false},
		{"no criteria in it", `{"provider": "any", "model": "m", "criteria": {}}`,
			"1 p.criteria: is required: at least one model's name with a description of what it is good for", false},
		{"no model", `{"provider": "any", ` + criteria + `}`, "2 p.model: no decision model is configured, so the policy abstains", true},
		{"a model that is not offered", `{"provider": "jev", "model": "m", ` + criteria + `}`,
			`2 p.model: the provider "jev" does not offer the decision model "m", so the policy abstains`, true},
		{"no such provider", `{"provider": "jef", "model": "m", ` + criteria + `}`, `0 p.provider: "jef" is not a provider of this file`, false},
		{"a provider of another type", `{"provider": "chat", "model": "m", ` + criteria + `}`,
			`0 p.provider: "chat" is of type openai; one of type typesafe or systemone is needed`, false},
		{"a criterion for nobody", `{"provider": "any", "model": "m", "criteria": {"qwen3": "x", "qwen3-32b": "y"}}`,
			`2 p.criteria["qwen3"]: "qwen3" is no model of the route; its models are "qwen3-0.6b", "qwen3-32b"`, true},
		{"an empty criterion", `{"provider": "any", "model": "m", "criteria": {"qwen3-0.6b": " "}}`,
			`0 p.criteria["qwen3-0.6b"]: is empty; describe what the model is good for, or leave it out`, true},
		{"a criterion that is null", `{"provider": "any", "model": "m", "criteria": {"qwen3-0.6b": null}}`,
			`0 p.criteria["qwen3-0.6b"]: null is not a string`, false},
		{"numbers out of range", `{"provider": "any", "model": "m", ` + criteria + `, "timeout": "0s", "max_state_bytes": 0, "instructions": ""}`,
			"0 p.timeout: 0s is not over 0\n0 p.max_state_bytes: 0 is not from 1 to 1048576", true},
		{"a field that is not known", `{"provider": "any", "model": "m", ` + criteria + `, "ttl": 1}`,
			"0 p.ttl: is unknown here; allowed are provider, model, instructions, criteria, timeout, max_state_bytes, cache_ttl, enabled, weight", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			v, got := build(t, test.object, surroundings)
			if got != test.want || (v != nil) != test.made {
				t.Errorf("made %v\ngot  %s\nwant %s", v != nil, got, test.want)
			}
		})
	}
	one := surroundings
	one.Models = one.Models[:1]
	if _, got := build(t, `{"provider": "any", "model": "m", "criteria": {"qwen3-0.6b": "x"}}`, one); got !=
		`2 p: every target of the route asks for "qwen3-0.6b", so there is nothing to decide and the policy abstains` {
		t.Errorf("one model: %s", got)
	}
}

func TestBuild_Defaults(t *testing.T) {
	v, _ := build(t, `{"provider": "jev", "model": "jev-latest", "criteria": {"qwen3-32b": "math"}}`, surroundings)
	q := v.question
	if q.Timeout != 3*time.Second || q.Keep != time.Minute || v.maxState != 65536 || v.mute != "" ||
		q.Service != "jev" || q.Endpoint != "https://jev.example" || q.Token.Reveal() != "t0ken" {
		t.Errorf("got %+v", v)
	}
	if shown := fmt.Sprintf("%+v %#v", q, q); strings.Contains(shown, "t0ken") {
		t.Errorf("the token shows: %s", shown)
	}
	if v, _ = build(t, `{"provider": "jev", "model": "jev-latest", "criteria": {"qwen3-32b": "math"}, "cache_ttl": "0s"}`, surroundings); v.question.Keep != 0 {
		t.Errorf("keeps for %v", v.question.Keep)
	}
	if k := New(nil); k.Name != "decision_service" || k.Weight != 10 || plugins.Check([]plugins.Kind{k}) != nil {
		t.Errorf("%q, weight %v: %v", k.Name, k.Weight, plugins.Check([]plugins.Kind{k}))
	}
}
