package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"text/template"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/apikey"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

type demoCommand struct {
	Listen      string `help:"Address for clients. By default 127.0.0.1:8080, or any free port if that is taken." placeholder:"ADDRESS"`
	AdminListen string `help:"Address for operators. By default 127.0.0.1:9090, or any free port if that is taken." placeholder:"ADDRESS"`
	logFlags
}

// demoKey is the API key of the demo, which nobody but loopback can use.
const demoKey = "demo"

// Help is shown below the command's usage.
func (*demoCommand) Help() string {
	return `Runs on loopback: three simulated engines of a small and a large model, a simulated decision service, and the gateway before them. It prints commands to try, and where its routes file is: edit that and see what happens. Nothing is left behind when it ends.`
}

// Run runs the demo until ctx ends.
func (c *demoCommand) Run(ctx context.Context, p *process) error {
	dir, err := os.MkdirTemp("", "gpustack-gateway-demo-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	around, err := startDemo()
	if err != nil {
		return err
	}
	defer around.close()
	routes := filepath.Join(dir, "routes.json")
	if err := os.WriteFile(routes, around.routes(), 0o600); err != nil {
		return err
	}
	log, flush := c.logger(p.stdout)
	defer flush()
	settings := settings{
		routes: routes, lookupEnv: os.LookupEnv,
		drain: 10 * time.Second, log: log, report: p.stderr,
	}
	if settings.data, err = demoListen(ctx, "--listen", c.Listen, "127.0.0.1:8080"); err != nil {
		return err
	}
	if settings.admin, err = demoListen(ctx, "--admin-listen", c.AdminListen, "127.0.0.1:9090"); err != nil {
		_ = settings.data.Close()
		return err
	}
	s, err := newService(settings)
	if err != nil {
		_, _ = settings.data.Close(), settings.admin.Close()
		return err
	}
	started := p.started
	p.started = func(a addresses) {
		demoText.Execute(p.stdout, map[string]string{"Data": callable(a.data), "Admin": callable(a.admin), "Key": demoKey, "Routes": routes}) //nolint:errcheck,gosec // to a terminal
		if started != nil {
			started(a)
		}
	}
	return s.run(ctx, p)
}

// demoListen listens on an address if one was asked for, else on the usual one, or on any port if that is taken: a demo
// should start.
func demoListen(ctx context.Context, flag, asked, usual string) (net.Listener, error) {
	if asked != "" {
		return listen(ctx, asked, flag)
	}
	if ln, err := listen(ctx, usual, flag); err == nil {
		return ln, nil
	}
	return listen(ctx, "127.0.0.1:0", flag)
}

// surroundings are what the demo simulates.
type surroundings struct {
	small    []*sim.Engine
	large    *sim.Engine
	decision *sim.Decision
}

// startDemo starts the simulated engines: the small model answers fast, the large one takes its time.
func startDemo() (*surroundings, error) {
	s := &surroundings{}
	start := func(first, between time.Duration) *sim.Engine {
		e, err := sim.Start("127.0.0.1:0", sim.Options{NoRecord: true, Behaviour: sim.Behaviour{Tokens: 24, FirstToken: first, BetweenTokens: between}})
		if err != nil {
			return nil
		}
		return e
	}
	s.small = []*sim.Engine{start(80*time.Millisecond, 15*time.Millisecond), start(80*time.Millisecond, 15*time.Millisecond)}
	s.large = start(400*time.Millisecond, 50*time.Millisecond)
	var err error
	s.decision, err = sim.StartDecision("127.0.0.1:0", sim.DecisionOptions{Key: demoKey, Behaviour: sim.Behaviour{HeadDelay: 50 * time.Millisecond}})
	if err != nil || s.large == nil || s.small[0] == nil || s.small[1] == nil {
		s.close()
		return nil, errors.Join(errors.New("the simulated engines can't listen on loopback"), err)
	}
	return s, nil
}

func (s *surroundings) close() {
	for _, e := range append(s.small, s.large) {
		if e != nil {
			e.Close()
		}
	}
	if s.decision != nil {
		s.decision.Close()
	}
}

// routes is the demo's routes file.
func (s *surroundings) routes() []byte {
	var b bytes.Buffer
	err := demoRoutes.Execute(&b, map[string]string{
		"Small1": strconv.Quote(s.small[0].URL()), "Small2": strconv.Quote(s.small[1].URL()),
		"Large": strconv.Quote(s.large.URL()), "Decision": strconv.Quote(s.decision.URL()), "Digest": strconv.Quote(apikey.Digest(demoKey)),
	})
	if err != nil {
		panic(err) // the template is ours
	}
	return b.Bytes()
}

var demoRoutes = template.Must(template.New("routes").Parse(`{
  "models": [
    {
      "name": "qwen3-0.6b",
      "instances": [
        { "name": "qwen3-0.6b-1", "url": {{.Small1}}, "max_inflight": 8 },
        { "name": "qwen3-0.6b-2", "url": {{.Small2}}, "max_inflight": 8 }
      ]
    },
    { "name": "qwen3-32b", "instances": [ { "name": "qwen3-32b-1", "url": {{.Large}} } ] }
  ],
  "providers": [
    { "name": "jev", "type": "typesafe", "endpoint": {{.Decision}}, "api_token": "demo", "models": ["jev-latest"] }
  ],
  "routes": [
    {
      "name": "qwen3",
      "description": "A small and a large model behind one name; policies choose.",
      "targets": [ { "model": "qwen3-0.6b" }, { "model": "qwen3-32b" } ],
      "policies": {
        "session_affinity": {},
        "least_inflight": {},
        "decision_service": {
          "provider": "jev",
          "model": "jev-latest",
          "instructions": "Pick the smallest model that can handle the request well.",
          "criteria": {
            "qwen3-0.6b": "Very fast; greetings, short facts, formatting.",
            "qwen3-32b": "Reasoning, math, code."
          }
        }
      }
    },
    {
      "name": "qwen3-split",
      "description": "One request in four goes to the small model, whatever its number of instances.",
      "targets": [ { "model": "qwen3-0.6b", "weight": 100 }, { "model": "qwen3-32b", "weight": 300 } ]
    }
  ],
  "api_keys": [ { "name": "demo", "user": "demo", "sha256": {{.Digest}} } ],
  "defaults": { "debug_headers": true }
}
`))

var demoText = template.Must(template.New("demo").Parse(`
The gateway serves on http://{{.Data}}, before simulated engines. Try in another terminal:

1. A light task. The decision service finds the small model fit for it (see x-gpustack-instance):

  curl -si http://{{.Data}}/v1/chat/completions -H 'Authorization: Bearer {{.Key}}' -H 'session-id: one' -H 'Content-Type: application/json' -d '{"model": "qwen3", "messages": [{"role": "user", "content": "Write a one-line greeting card."}]}'

2. A hard one, streamed, in the same session. It goes to the large model:

  curl -siN http://{{.Data}}/v1/chat/completions -H 'Authorization: Bearer {{.Key}}' -H 'session-id: one' -H 'Content-Type: application/json' -d '{"model": "qwen3", "stream": true, "messages": [{"role": "user", "content": "Prove that there are infinitely many primes, then implement the proof sketch in Python."}]}'

3. Why it went there: what would happen to a request now, and how every policy votes:

  curl -s http://{{.Admin}}/api/explain -H 'Content-Type: application/json' -d '{"path": "/v1/chat/completions", "headers": {"session-id": "one"}, "body": {"model": "qwen3", "messages": [{"role": "user", "content": "Write a one-line greeting card."}]}, "call_decision_service": true}'

The console is at http://{{.Admin}}/: look on, and change routes there.
The routes file is {{.Routes}}: edit it, and what you save takes effect at once.
Metrics are at http://{{.Admin}}/metrics. Ctrl-C ends the demo.

`))
