package fleetsim

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
)

const scenarios = "../../testdata/fleet"

func TestParseDefaults(t *testing.T) {
	s, problems := Parse([]byte("{}"))
	if len(problems) > 0 || !reflect.DeepEqual(*s, Default()) {
		t.Errorf("%v, %+v", problems, s)
	}
}

// The scenarios that the documentation names can be used, and the one that writes every member down is the default.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(scenarios, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s, problems := Parse(text)
		if len(problems) > 0 {
			t.Errorf("%s: %v", file, problems)
		}
		if filepath.Base(file) == "scaling-size.json" && !reflect.DeepEqual(*s, Default()) {
			t.Errorf("%s is not the default:\n%+v\n%+v", file, *s, Default())
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string][]string{
		"":                           {"1:1: is empty"},
		"{\n \"instances\": [0]\n}":  {"2:16: instances[0]: 0 is not in the range from 1 to 1024"},
		`{"instances": [1, 1025]}`:   {"1:19: instances[1]: 1025 is not in the range from 1 to 1024"},
		`{"instances": []}`:          {"1:15: instances: is empty; leave it out for the default, or name at least one"},
		`{"gateways": [17]}`:         {"1:15: gateways[0]: 17 is not in the range from 1 to 16"},
		`{"load": [0]}`:              {"1:11: load[0]: 0 is not in the range from 0.01 to 100"},
		`{"share": ["all", "some"]}`: {`1:19: share[1]: "some" is none of nothing, counts, all`},
		`{"plot": "time"}`:           {`1:10: plot: "time" is none of instances, load, gateways, share, strategies`},
		`{"repeat": 0}`:              {"1:12: repeat: 0 is not in the range from 1 to 1000"},
		`{"measure": 0}`:             {"1:13: measure: 0s is not in the range from 1s to 24h"},
		`{"measure": "1d"}`:          {`1:13: measure: the string "1d" is not a duration: it is written "10s" or "1m30s", or 0`},
		`{"spread": 5}`:              {"1:12: spread: 5 is not in the range from 0 to 4"},
		`{"agent": {}}`: {"1:2: agent: is unknown here; allowed are title, seed, repeat, warm_up, measure, instances, load, " +
			"gateways, share, roam, engine, kinds, agents, chat, spread, strategies, plot"},
		`{"agents": {"context_tokens": 11000}}`: {"1:31: agents.context_tokens: 11000 has no room for a session's first turn, " +
			"which is of about 11800 tokens"},
		`{"agents": {"per_instance": 0}, "chat": {"per_second_per_instance": 0}}`: {"1:1: has neither agents nor chat, so nothing would happen"},
		`{"engine": {"prefill_tokens_per_second": 0}}`:                            {"1:42: engine.prefill_tokens_per_second: 0 is not above 0"},
		`{"engine": {"decode_tokens_per_second_full": 101}}`: {"1:46: engine.decode_tokens_per_second_full: 101 is not possible: " +
			"with 16 slots each answer gets at most the 100 of one alone, and all together no less"},
		`{"kinds": [{"name": "", "part": 0, "speed": 0, "weight": 0}]}`: {"1:21: kinds[0].name: is empty",
			"1:33: kinds[0].part: 0 is not in the range from 1 to 1e+06",
			"1:45: kinds[0].speed: 0 is not in the range from 0.001 to 1000",
			"1:58: kinds[0].weight: 0 is not in the range from 1 to 1e+06"},
		`{"kinds": [{"name": "a"}]}`: {"1:12: kinds[0].part: is required", "1:12: kinds[0].speed: is required",
			"1:12: kinds[0].weight: is required"},
		`{"kinds": [{"name": "a", "part": 1, "speed": 1, "weight": 1}, {"name": "a", "part": 1, "speed": 1, "weight": 1}]}`: {
			`1:72: kinds[1].name: "a" is there twice`},
		`{"strategies": [{}]}`: {"1:17: strategies[0]: has neither by nor the weight of a policy: session_affinity, " +
			"least_inflight or least_inflight_per_instance"},
		`{"strategies": [{"by": "policy"}]}`: {`1:24: strategies[0].by: "policy" is none of target_weight, round_robin`},
		`{"strategies": [{"by": "round_robin", "least_inflight": 1}]}`: {
			"1:24: strategies[0].by: leaves no say to the policies; leave it out, or their weights"},
		`{"strategies": [{"session_affinity": -1, "least_inflight": 0}]}`: {"1:38: strategies[0].session_affinity: -1 is not above 0",
			"1:60: strategies[0].least_inflight: 0 is not above 0"},
		`{"strategies": [{"least_inflight": 1, "least_inflight_per_instance": 1}]}`: {
			"1:36: strategies[0].least_inflight: is there in two ways; leave out it or least_inflight_per_instance"},
	} {
		_, problems := Parse([]byte(text))
		var got []string
		for _, p := range problems {
			got = append(got, p.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s:\n%s\nnot\n%s", text, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
}

func TestTitles(t *testing.T) {
	for want, s := range map[string]Strategy{
		"round robin":       {By: "round_robin"},
		"target weight":     {By: "target_weight"},
		"least in-flight":   {Load: number(3)},
		"affinity":          {Affinity: number(2)},
		"both 1.5:1":        {Affinity: number(2), Load: number(3)},
		"both N:1":          {Affinity: number(1), LoadPer: number(1)},
		"both 2N:1":         {Affinity: number(1), LoadPer: number(2)},
		"both N/8:1":        {Affinity: number(1), LoadPer: number(0.125)},
		"both 3N/8:1":       {Affinity: number(1), LoadPer: number(0.375)},
		"both N/3:1":        {Affinity: number(1), LoadPer: number(0.3333)},
		"both 0.31N:1":      {Affinity: number(1), LoadPer: number(0.31)},
		"both 1:1, cap 32":  {Affinity: number(1), Load: number(1), MaxInflight: 32},
		"what it is called": {Name: "what it is called", By: "round_robin"},
	} {
		if got := s.title(); got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}

// FuzzParse holds that no text breaks the parser, and that what it accepts can be laid out.
func FuzzParse(f *testing.F) {
	files, err := filepath.Glob(filepath.Join(scenarios, "*.json"))
	if err != nil {
		f.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Add(`{"strategies": [{"by": "round_robin"}], "kinds": [null]}`)
	f.Fuzz(func(t *testing.T, text string) {
		s, problems := Parse([]byte(text))
		for _, p := range problems {
			if p.Line < 1 || p.Column < 1 || p.Message == "" {
				t.Errorf("%+v", p)
			}
		}
		if len(problems) == 0 && len(s.Points()) == 0 {
			t.Error("nothing to simulate")
		}
	})
}
