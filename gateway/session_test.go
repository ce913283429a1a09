package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

// say is how a session reads whose owner is busy.
type say int

const (
	holds say = iota
	ties
	flips
)

// The table of design/balancing.md: what becomes of a session whose owner has x requests in flight while all others are
// idle, with N candidates. The requests are real, and so are the instances.
func TestC040WhenASessionMoves(t *testing.T) {
	engines := cluster(t, 4)
	for _, c := range []struct {
		n     int
		least string
		at    []say // by x
	}{
		{2, "1", []say{holds, ties, flips, flips, flips}},
		{3, "1", []say{holds, holds, ties, flips, flips}},
		{4, "1", []say{holds, holds, holds, holds, holds, holds, flips}},
		{2, "1.5", []say{holds, flips, flips}},
		{3, "1.5", []say{holds, flips, flips}},
		{4, "1.5", []say{holds, holds, flips}},
		{2, "2", []say{holds, flips}},
		{3, "2", []say{holds, flips}},
		{4, "2", []say{holds, flips}},
	} {
		t.Run(fmt.Sprintf("%d_candidates_%s_to_1", c.n, c.least), func(t *testing.T) {
			g := gatewaytest.Start(t, balanced(engines, c.n,
				fmt.Sprintf(`"policies": {"least_inflight": {"weight": %s}, "session_affinity": {"weight": 1}}`, c.least)), kinds())
			k, next := newCaller(t, g), 0
			for x, want := range c.at {
				samples := 10
				if want == ties {
					samples = 100
				}
				// The sessions of one owner, each asked for once while everything is idle.
				owner, keys := "m-1", []string{}
				for ; len(keys) < samples; next++ {
					key := fmt.Sprintf("session-id: s-%d", next)
					if k.post(chat, chatBody, key) == owner {
						keys = append(keys, key)
					}
				}
				release := occupy(t, g, owner, x)
				held := 0
				for _, key := range keys {
					if k.post(chat, chatBody, key) == owner {
						held++
					}
				}
				release()
				// A tie is broken at random: a quarter of 100 is five standard deviations away.
				if want == holds && held != samples || want == flips && held != 0 || want == ties && (held < 25 || held > 75) {
					t.Errorf("x=%d: %d of %d stay", x, held, samples)
				}
			}
		})
	}
}

func TestC043OnlyTheSessionsOfWhatLeavesMove(t *testing.T) {
	const keys = 1000
	engines := cluster(t, 4)
	policies := `"policies": {"session_affinity": {}, "least_inflight": {}}`
	g := gatewaytest.Start(t, balanced(engines, 4, policies), kinds())
	k := newCaller(t, g)
	ask := func(i int) string { return k.post(chat, chatBody, fmt.Sprintf("session-id: session-%d", i)) }
	before := make([]string, keys)
	share := map[string]int{}
	for i := range before {
		before[i] = ask(i)
		share[before[i]]++
	}
	for i := range engines {
		if n := share[fmt.Sprintf("m-%d", i+1)]; n < 200 || n > 300 {
			t.Errorf("sessions are spread as %v", share)
		}
	}
	g.Reload(balanced(engines, 3, policies))
	meanwhile := make([]string, keys/2) // the others rest
	for i := range meanwhile {
		meanwhile[i] = ask(i)
		if moved := meanwhile[i] != before[i]; moved != (before[i] == "m-4") {
			t.Errorf("session %d went from %s to %s when m-4 left", i, before[i], meanwhile[i])
		}
	}
	g.Reload(balanced(engines, 4, policies))
	for i := range before {
		want := before[i]
		if i < len(meanwhile) {
			want = meanwhile[i]
		}
		if got := ask(i); got != want {
			t.Errorf("session %d is at %s after m-4 has come back, want %s", i, got, want)
		}
	}
}

// What names a session, and what does not.
func TestC047SessionKeys(t *testing.T) {
	engines := cluster(t, 4)
	g := gatewaytest.Start(t, balanced(engines, 4,
		`"policies": {"session_affinity": {"session_keys": [{"header": "h1"}, {"header": "h2"}, {"body_key": "meta.key"}]}}`), kinds())
	k := newCaller(t, g)
	owner := func(key string) string { return k.post(chat, chatBody, "h1: "+key) }
	// Two keys of which one begins with the other, at different owners.
	short, long := "", ""
	for i := 1; short == ""; i++ {
		if a, b := fmt.Sprintf("session-%d", i), fmt.Sprintf("session-%d2", i); owner(a) != owner(b) {
			short, long = a, b
		}
	}
	first, second := owner(short), owner(long)
	withKey := func(key string) string {
		return fmt.Sprintf(`{"model": "m", "max_tokens": 5, "input": "hi", "prompt": "hi", "messages": [{"role": "user", "content": "hi"}], "meta": {"key": %q}}`, key)
	}
	for _, c := range []struct {
		name, path, body string
		headers          []string
		want             string // "" for none: every instance in turn
	}{
		{"the key itself", chat, chatBody, []string{"h1: " + short}, first},
		{"the longer key", chat, chatBody, []string{"h1: " + long}, second},
		{"a header in another case", chat, chatBody, []string{"H1: " + short}, first},
		{"white space about it", chat, chatBody, []string{"h1: \t" + long + "  "}, second},
		{"the first key before the second", chat, chatBody, []string{"h2: " + short, "h1: " + long}, second},
		{"an empty header before the second", chat, chatBody, []string{"h1: ", "h2: " + long}, second},
		{"the second alone", chat, chatBody, []string{"h2: " + long}, second},
		{"headers before the body", "/v1/responses", withKey(short), []string{"h2: " + long}, second},
		{"body of responses", "/v1/responses", withKey(long), nil, second},
		{"body of messages", "/v1/messages", withKey(long), nil, second},
		{"body behind empty headers", "/v1/messages", withKey(short), []string{"h1: ", "h2:"}, first},
		{"body of chat", chat, withKey(long), nil, ""},
		{"body of completions", "/v1/completions", withKey(long), nil, ""},
		{"empty key in a body", "/v1/responses", withKey(""), nil, ""},
		{"number in a body", "/v1/responses", strings.Replace(withKey(""), `""`, "7", 1), nil, ""},
		{"empty headers", chat, chatBody, []string{"h1: ", "h2: "}, ""},
		{"no key", chat, chatBody, nil, ""},
		{"a header that is none of them", chat, chatBody, []string{"session-id: " + long}, ""},
	} {
		served := map[string]int{}
		for range 8 {
			served[k.post(c.path, c.body, c.headers...)]++
		}
		for i := range engines {
			name := fmt.Sprintf("m-%d", i+1)
			want := 2
			if c.want != "" {
				want = 0
				if name == c.want {
					want = 8
				}
			}
			if served[name] != want {
				t.Errorf("%s: %v, want %q", c.name, served, c.want)
				break
			}
		}
	}
}
