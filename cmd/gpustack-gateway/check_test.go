package main

import (
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	const models = `{"models": [{"name": "a", "instances": [{"name": "a-1", "url": "http://a:1"}]},
  {"name": "b", "instances": [{"name": "b-1", "url": "http://b:1"}, {"name": "b-2", "url": "http://b:2"}]}], "routes": [
`
	for name, test := range map[string]struct {
		file   string
		status int
		want   []string
	}{
		"valid": {models + `{"name": "w", "access_policy": "public", "targets": [{"model": "a", "weight": 1}, {"model": "b", "weight": 2}]},
			{"name": "p", "targets": [{"model": "a"}, {"model": "b", "fallback_status_codes": ["5xx"]}], "policies": {"least_inflight": {}}},
			{"name": "r", "targets": [{"model": "a"}, {"model": "b"}]}]}`, exitOK,
			[]string{"w target_weight 3 0 public", "p policy 1 1 authed", "r round_robin 3 0 authed"}},
		"a warning": {models + `{"name": "w", "targets": [{"model": "a", "weight": 1}], "policies": {"least_inflight": {}}}]}`, exitOK,
			[]string{"stdin:3:69: routes[0].policies: warning: ", "w target_weight 1 0 authed"}},
		"an unusable route": {models + `{"name": "m", "targets": [{"model": "a", "weight": 1}, {"model": "b"}]}, {"name": "r", "targets": [{"model": "a"}]}]}`, exitFailed,
			[]string{"m unusable - - authed: some targets have a weight and some have not (0 is none)", "r round_robin 1 0 authed", "1 route cannot serve"}},
		"mistakes": {models + `{"name": "m", "targets": [{"model": "c"}]}, {"name": "m", "targets": [{"model": "a", "weight": -1}]}]}`, exitFailed,
			[]string{`stdin:3:37: routes[0].targets[0].model: "c" is not a model of this file`, `stdin:3:54: routes[1].name: "m" is the name of routes[0] already`,
				"routes[1].targets[0].weight: -1 is less than 0", "cannot be used: 3 problems"}},
		"a variable that is not set": {`{"providers": [{"name": "p", "type": "openai", "endpoint": "http://p", "api_token": "${CHECK_TEST_IS_NOT_SET}"}], "routes": []}`, exitFailed,
			[]string{"stdin:1:85: providers[0].api_token: the environment variable CHECK_TEST_IS_NOT_SET is not set", "cannot be used: 1 problem"}},
	} {
		status, stdout, stderr := command(t, test.file, "check", "-")
		squeezed := strings.Join(strings.Fields(stdout), " ")
		for _, want := range test.want {
			if !strings.Contains(squeezed, want) {
				t.Errorf("%s: missing %q in\n%s", name, want, stdout)
			}
		}
		if status != test.status || stderr != "" {
			t.Errorf("%s: status %d, %s", name, status, stderr)
		}
	}
}
