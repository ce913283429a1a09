package route

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/plugins/decisionservice"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

func testKinds() []plugins.Kind {
	return []plugins.Kind{sessionaffinity.New(), leastinflight.New(), decisionservice.New(nil)}
}

// testOptions are options with the policies that there are and an environment of a few variables.
func testOptions() Options {
	env := map[string]string{"DEEPSEEK_API_KEY": "sk-deepseek", "JEV_API_KEY": "sk-jev", "EMPTY": "", "TWO_LINES": "sk-hunter2\n"}
	return Options{Kinds: testKinds(), Fleet: lb.NewFleet(rand.Uint64), Rand: rand.Uint64,
		LookupEnv: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
}

// mustBuild builds a snapshot of a file without a problem at file level.
func mustBuild(tb testing.TB, text string, o Options) *Snapshot {
	tb.Helper()
	s, problems := Load("routes.json", []byte(text), o)
	if s == nil {
		tb.Fatal(report(s, problems))
	}
	return s
}

// report is what a person would want to know of a file.
func report(s *Snapshot, problems []Problem) string {
	var out strings.Builder
	for _, p := range problems {
		fmt.Fprintln(&out, p)
	}
	if s == nil {
		out.WriteString("refused\n")
		return out.String()
	}
	for _, r := range s.Routes() {
		if r.Reason != "" {
			fmt.Fprintf(&out, "route %s (%s) is unusable: %s\n", r.Name, r.Access, r.Reason)
			continue
		}
		fmt.Fprintf(&out, "route %s (%s) by %s\n", r.Name, r.Access, r.By)
		fmt.Fprintf(&out, "  %+v, retry %d within %v on %q, body %d, debug %v\n", r.Timeouts, r.Retry.MaxAttempts,
			r.Retry.Deadline, r.Retry.StatusCodes.String(), r.MaxBodyBytes, r.DebugHeaders)
		for _, v := range r.Pool.Votes() {
			fmt.Fprintf(&out, "  vote %s x %v\n", v.Name, v.Weight)
		}
		reportPool(&out, "", r.Pool, r.Upstreams)
		for _, f := range r.Fallbacks {
			reportPool(&out, " on "+f.Codes.String(), f.Pool, f.Upstreams)
		}
	}
	return out.String()
}

func reportPool(out *strings.Builder, when string, p *lb.Pool, ups []Upstream) {
	for t, target := range p.Targets() {
		fmt.Fprintf(out, "  target %s%s, weight %d\n", target.Name, when, target.Weight)
		for i, c := range p.Candidates() {
			if c.Target == t {
				u := &ups[i]
				fmt.Fprintf(out, "    %s of %s at %s, base %s, asks for %q, limit %d, exempt %v, header %q\n", u.Instance,
					u.Target, c.Engine.URL(), u.Address.BasePath, u.Model, c.Limit, c.Exempt, u.Header)
			}
		}
	}
}
