package chaos

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"
)

// engines is how many engines there are; spare is the one that only fallback targets reach.
const (
	engines = 8
	spare   = 7
)

// stall is how long a client may stop reading. A client here may get no turn on a busy machine for far longer than any
// does elsewhere, and must not pass for one that has stopped.
const stall = 3 * time.Second

// names are the routes that take the traffic.
var names = []string{"weights", "turns", "policies", "queued", "fallback", "capped", "beats", "keyed"}

// served is the model behind an engine, as the engine knows it.
func served(engine int) string {
	return []string{"served-a", "served-a", "served-a", "served-b", "served-b", "served-c", "served-c", "served-f"}[engine]
}

// caps are the largest max_inflight that an engine ever has; 0 is none.
func caps() [engines]int { return [engines]int{0, 0, 0, 6, 6, 5, 5, 0} }

// version is a state of the routes file.
type version struct {
	note     string
	out      [engines]bool // instances that are not in it
	smaller  bool          // the caps of model c
	attempts int
}

// next changes one thing.
func (v *version) next(r *rand.Rand) {
	switch r.IntN(4) {
	case 0:
		v.note = fmt.Sprintf("edit %d", r.IntN(1e6))
	case 1:
		i := []int{1, 2, 4, 6}[r.IntN(4)] // one instance of each model stays
		v.out[i] = !v.out[i]
	case 2:
		v.smaller = !v.smaller
	case 3:
		v.attempts = 2 + r.IntN(3)
	}
}

// text is the routes file over engines at some URLs.
func (v *version) text(urls [engines]string) string {
	instances := func(from, to int) string {
		var list []string
		for i := from; i <= to; i++ {
			if v.out[i] {
				continue
			}
			limit := caps()[i]
			if v.smaller && limit == 5 {
				limit = 3
			}
			list = append(list, fmt.Sprintf(`{"name": "engine-%d", "url": %q, "max_inflight": %d}`, i, urls[i], limit))
		}
		return strings.Join(list, ", ")
	}
	model := func(name string, from, to int) string {
		return fmt.Sprintf(`{"name": %q, "served_model_name": "served-%[1]s", "instances": [%s]}`, name, instances(from, to))
	}
	digest := sha256.Sum256([]byte(key))
	return fmt.Sprintf(`{
	"models": [%s, %s, %s, %s],
	"routes": [
		{"name": "weights", "access_policy": "public", "targets": [{"model": "a", "weight": 70}, {"model": "b", "weight": 30}]},
		{"name": "turns", "access_policy": "public", "targets": [{"model": "a"}, {"model": "b"}]},
		{"name": "policies", "access_policy": "public", "targets": [{"model": "a"}, {"model": "b"}, {"model": "c"}],
			"policies": {"session_affinity": {}, "least_inflight": {}}},
		{"name": "queued", "access_policy": "public", "targets": [{"model": "c"}], "queue": {"max": 12, "timeout": "400ms"}},
		{"name": "fallback", "access_policy": "public", "targets": [{"model": "b"}, {"model": "f", "fallback_status_codes": ["429", "5xx"]}]},
		{"name": "capped", "access_policy": "public", "targets": [{"model": "c"}, {"model": "b"}], "policies": {"least_inflight": {}}},
		{"name": "beats", "access_policy": "public", "heartbeat": "20ms", "retry": {"peek_first_event": true},
			"targets": [{"model": "a"}, {"model": "f", "fallback_status_codes": ["4xx", "5xx"]}]},
		{"name": "keyed", "description": %q, "targets": [{"model": "a"}, {"model": "c"}], "policies": {"session_affinity": {}}}
	],
	"api_keys": [{"name": "chaos", "user": "chaos", "sha256": %q}],
	"defaults": {
		"timeouts": {"connect": "1s", "first_byte": "1s", "idle": "1s", "client_stall": %q},
		"retry": {"max_attempts": %d, "deadline": "3s"},
		"health": {"cooldown": "200ms", "ramp": "200ms"}
	}}`, model("a", 0, 2), model("b", 3, 4), model("c", 5, 6), model("f", spare, spare), v.note, hex.EncodeToString(digest[:]), stall, v.attempts)
}

// spoil makes a file that cannot be used.
func spoil(r *rand.Rand, text string) string {
	return []string{
		"", text[:len(text)*r.IntN(100)/100], strings.Replace(text, `"models": [`, `"models": 3, "routes": [`, 1),
		strings.Replace(text, `"turns"`, `"weights"`, 1), strings.Replace(text, `{"model": "a"}`, `{"model": "nothing"}`, 1),
	}[r.IntN(5)]
}

// mayServe reports whether a route leads to an engine.
func mayServe(route string, engine int) bool {
	models := map[string]string{"weights": "ab", "turns": "ab", "policies": "abc", "queued": "c", "fallback": "bf", "capped": "bc", "beats": "af", "keyed": "ac"}
	return strings.Contains(models[route], served(engine)[len("served-"):])
}
