package docstest_test

import (
	"encoding/json"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

// load loads a routes file with every variable set, and fails the test for whatever keeps it, or a route of it, from
// serving.
func load(t *testing.T, name, text string) *route.Snapshot {
	t.Helper()
	s, problems := route.Load(name, []byte(text), route.Options{
		Kinds: builtin.All(nil), Fleet: lb.NewFleet(rand.Uint64), Rand: rand.Uint64,
		LookupEnv: func(string) (string, bool) { return "something", true },
	})
	for _, p := range problems {
		if p.Level != route.Warning {
			t.Errorf("%s", p.String())
		}
	}
	return s
}

// What pages show as JSON is JSON, if need be with braces around it, and what looks like a routes file can be served.
func TestRoutesFilesOfThePages(t *testing.T) {
	files := 0
	for _, name := range pages(t) {
		_, blocks := split(read(t, name))
		for _, b := range blocks {
			if b.language != "json" {
				continue
			}
			at := name + ":" + strconv.Itoa(b.line)
			var members map[string]json.RawMessage
			if err := json.Unmarshal([]byte(b.text), &members); err != nil {
				fragment := "{" + strings.TrimSuffix(strings.TrimSpace(b.text), ",") + "}"
				if err := json.Unmarshal([]byte(fragment), &members); err != nil {
					t.Errorf("%s: neither JSON nor members of an object: %v", at, err)
				}
				continue
			}
			if members["models"] == nil && members["routes"] == nil {
				continue
			}
			files++
			digest := strings.Repeat("0123456789abcdef", 4)
			load(t, at, strings.ReplaceAll(b.text, "<64 hex digits>", digest))
		}
	}
	if files < 3 {
		t.Errorf("only %d routes files were found", files)
	}
}
