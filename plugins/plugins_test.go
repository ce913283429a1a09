package plugins_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

type rule struct {
	Name string `json:"name" jsontree:"required"`
	Keep int    `json:"keep"`
}

type config struct {
	Rules []rule        `json:"rules"`
	Wait  time.Duration `json:"wait"`
}

func findings(s *plugins.Spec) string {
	var lines []string
	for _, f := range s.Findings() {
		lines = append(lines, fmt.Sprintf("%d %d %s: %s", f.Level, f.Offset, f.Path, f.Message))
	}
	return strings.Join(lines, "\n")
}

func TestSpecDecode(t *testing.T) {
	for _, test := range []struct{ object, want string }{
		{`{}`, ``},
		{`{"enabled": false, "weight": 0.5, "wait": "2s", "rules": [{"name": "a", "keep": 2}]}`, ``},
		{`{"enabled": "what", "weight": -1}`, ``}, // the route's business
		{`{"rules": [{"name": 1}, {}], "wiat": 1}`,
			"0 20 policies.p.rules[0].name: the number 1 is not a string\n" +
				"0 24 policies.p.rules[1].name: is required\n" +
				"0 29 policies.p.wiat: is unknown here; allowed are rules, wait, enabled, weight"},
		{`{"rules": [{"name": "a", "weight": 1}]}`,
			"0 25 policies.p.rules[0].weight: is unknown here; allowed are name, keep"},
	} {
		s, err := plugins.ParseSpec(test.object, plugins.SpecConfig{Path: "policies.p"})
		if err != nil {
			t.Fatal(err)
		}
		c := config{Wait: time.Second}
		ok := s.Decode(&c)
		if got := findings(s); got != test.want || ok != (test.want == "") {
			t.Errorf("%s: %v\ngot  %s\nwant %s", test.object, ok, got, test.want)
		}
	}
}

func TestSpecFindings(t *testing.T) {
	s, err := plugins.ParseSpec(`{"rules": [{"name": "x"}], "by": {"a.b": 1}}`, plugins.SpecConfig{Path: "p"})
	if err != nil {
		t.Fatal(err)
	}
	s.Problemf("rules[0].name", "%q is taken", "x")
	s.Unusablef("provider", "is required")
	s.Warnf("", "does little")
	s.Warnf("by.a.b", "is odd")
	want := "0 20 p.rules[0].name: \"x\" is taken\n1 0 p.provider: is required\n2 0 p: does little\n2 41 p.by.a.b: is odd"
	if got := findings(s); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestSpecAnswers(t *testing.T) {
	s := plugins.NewSpec(plugins.SpecConfig{Route: "r", Models: []string{"a", "b"},
		Providers: []plugins.Provider{{Name: "jev", Token: secret.New("t")}}})
	if !s.Decode(&config{}) || len(s.Findings()) > 0 {
		t.Error("no object is not an empty one")
	}
	if s.Route() != "r" || !slices.Equal(s.Models(), []string{"a", "b"}) {
		t.Errorf("route %q, models %q", s.Route(), s.Models())
	}
	if p, ok := s.Provider("jev"); !ok || p.Token.Reveal() != "t" {
		t.Errorf("got %+v, %v", p, ok)
	}
	if _, ok := s.Provider("veg"); ok {
		t.Error("there is no such provider")
	}
	if _, err := plugins.ParseSpec(`{"a": }`, plugins.SpecConfig{}); err == nil {
		t.Error("no error for what is not JSON")
	}
}

func TestCheck(t *testing.T) {
	good := plugins.Kind{Name: "good_1", Weight: .5, Schema: `{"type": "object", "properties": {"x": {}}}`,
		Build: func(*plugins.Spec) lb.Voter { return nil }}
	with := func(change func(k *plugins.Kind)) plugins.Kind {
		k := good
		change(&k)
		return k
	}
	if err := plugins.Check([]plugins.Kind{good, with(func(k *plugins.Kind) { k.Name = "other" })}); err != nil {
		t.Error(err)
	}
	for want, bad := range map[string]plugins.Kind{
		"registered twice":       good,
		"name":                   with(func(k *plugins.Kind) { k.Name = "a b" }),
		"weight 0 is":            with(func(k *plugins.Kind) { k.Name, k.Weight = "w", 0 }),
		"weight NaN":             with(func(k *plugins.Kind) { k.Name, k.Weight = "w", math.NaN() }),
		"weight +Inf":            with(func(k *plugins.Kind) { k.Name, k.Weight = "w", math.Inf(1) }),
		"no Build":               with(func(k *plugins.Kind) { k.Name, k.Build = "b", nil }),
		"is empty":               with(func(k *plugins.Kind) { k.Name, k.Schema = "s", "" }),
		`"type": "object"`:       with(func(k *plugins.Kind) { k.Name, k.Schema = "s", `{"type": "string"}` }),
		`"weight", which every`:  with(func(k *plugins.Kind) { k.Name, k.Schema = "s", `{"type": "object", "properties": {"weight": {}}}` }),
		`"enabled", which every`: with(func(k *plugins.Kind) { k.Name, k.Schema = "s", `{"type": "object", "properties": {"enabled": {}}}` }),
	} {
		if err := plugins.Check([]plugins.Kind{good, bad}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}
