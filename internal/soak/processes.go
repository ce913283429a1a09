package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// engineCount is how many engines are simulated.
const engineCount = 6

// serveEngines is the process of the engines. It prints their addresses and ends with its standard input.
func serveEngines() {
	var n atomic.Int64
	for range engineCount {
		e, err := sim.Start("127.0.0.1:0", sim.Options{NoRecord: true, Hook: func(q *sim.Request) sim.Behaviour { return behave(q, n.Add(1)) }})
		if err != nil {
			fmt.Fprintln(os.Stderr, "soak: engines:", err)
			os.Exit(1)
		}
		fmt.Println(e.URL())
	}
	_, _ = io.Copy(io.Discard, os.Stdin) // until who started this is gone
}

// behave is what an engine makes of a request: most are answered well, some break in one of many ways.
func behave(q *sim.Request, n int64) sim.Behaviour {
	if q.Get("X-Fill") != "" {
		return sim.Behaviour{Tokens: 1}
	}
	b := sim.Behaviour{Tokens: 20 + int(n%30), FirstToken: 20 * time.Millisecond, BetweenTokens: 4 * time.Millisecond}
	faults := []sim.Fault{
		{Kind: sim.ResetBeforeHead}, {Kind: sim.ResetAfterHead}, {Kind: sim.CloseAfterEvents, After: 5}, {Kind: sim.ShortBody, After: 10},
		{Kind: sim.ResetAfterEvents, After: 3}, {Kind: sim.CloseBeforeHead}, {Kind: sim.SilentAfterEvents, After: 2},
	}
	switch {
	case n%50 == 0:
		b.Fault = faults[n/50%int64(len(faults))]
	case n%73 == 0:
		b.Status = []int{429, 500, 503}[n/73%3]
	case n%211 == 0:
		b.ErrorEvent = 3
	}
	return b
}

// process is another process, with its standard output line by line.
type process struct {
	cmd   *exec.Cmd
	lines *bufio.Scanner
	input io.WriteCloser
}

func start(ctx context.Context, name string, args ...string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, name, args...)}
	p.cmd.Cancel = func() error { return p.cmd.Process.Signal(os.Interrupt) }
	p.cmd.Stderr = os.Stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if p.input, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	p.lines = bufio.NewScanner(out)
	return p, p.cmd.Start()
}

// stop ends the process and waits for it.
func (p *process) stop() {
	_ = p.input.Close()                    // the engines end by it
	_ = p.cmd.Process.Signal(os.Interrupt) // it has ended already
	_ = p.cmd.Wait()                       // however it ended: its figures have been taken
}

type engines struct {
	*process
	urls []string
}

func startEngines(ctx context.Context) (*engines, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p, err := start(ctx, self, "engines")
	if err != nil {
		return nil, err
	}
	e := &engines{process: p}
	for len(e.urls) < engineCount && p.lines.Scan() {
		e.urls = append(e.urls, p.lines.Text())
	}
	if len(e.urls) < engineCount {
		p.stop()
		return nil, errors.New("the engines did not start")
	}
	return e, nil
}

type gateway struct {
	*process
	data, admin string // host:port
	file        string
	urls        []string
	logged      atomic.Int64 // requests, by the access log
}

func startGateway(ctx context.Context, binary, dir string, urls []string) (*gateway, error) {
	g := &gateway{file: filepath.Join(dir, "routes.json"), urls: urls}
	if err := os.WriteFile(g.file, []byte(g.routes("")), 0o600); err != nil {
		return nil, err
	}
	var err error
	if g.process, err = start(ctx, binary, "serve", "--routes", g.file, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0", "--grace-period", "0s"); err != nil {
		return nil, err
	}
	for g.lines.Scan() {
		var line struct{ Message, Listen, Admin string }
		if json.Unmarshal(g.lines.Bytes(), &line) == nil && line.Message == "serving" {
			g.data, g.admin = line.Listen, line.Admin
			go func() {
				for g.lines.Scan() {
					if strings.Contains(g.lines.Text(), `"message":"request"`) {
						g.logged.Add(1)
					}
				}
			}()
			return g, nil
		}
	}
	g.stop()
	return nil, errors.New("the gateway did not start")
}

// routes is the routes file: a weighted split, a policy with sessions and a cap, and a fallback.
func (g *gateway) routes(note string) string {
	instance := func(i int, more string) string {
		return fmt.Sprintf(`{"name": "engine-%d", "url": %q%s}`, i, g.urls[i], more)
	}
	const limit = `, "max_inflight": 50`
	return fmt.Sprintf(`{
	"models": [
		{"name": "a", "instances": [%s, %s, %s]},
		{"name": "b", "instances": [%s, %s]},
		{"name": "spare", "instances": [%s]}
	],
	"routes": [
		{"name": "split", "description": %q, "access_policy": "public", "targets": [{"model": "a", "weight": 2}, {"model": "b", "weight": 1}]},
		{"name": "sessions", "access_policy": "public", "targets": [{"model": "a"}, {"model": "b"}], "queue": {},
			"policies": {"session_affinity": {}, "least_inflight": {}}},
		{"name": "safe", "access_policy": "public", "heartbeat": "100ms", "retry": {"peek_first_event": true},
			"targets": [{"model": "b"}, {"model": "spare", "fallback_status_codes": ["429", "5xx"]}]}
	],
	"defaults": {"timeouts": {"first_byte": "2s", "idle": "1s"}, "health": {"cooldown": "1s", "ramp": "1s"}}}`,
		instance(0, ""), instance(1, ""), instance(2, ""), instance(3, limit), instance(4, limit), instance(5, ""), note)
}

// edit changes the routes file every now and then.
func (g *gateway) edit(ctx context.Context) {
	tick := time.NewTicker(5 * time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			text := g.routes(fmt.Sprintf("edit %d", draw(1e9)))
			if draw(4) == 0 {
				text = text[:len(text)/2] // as if half written
			}
			if err := os.WriteFile(g.file, []byte(text), 0o600); err != nil {
				fmt.Fprintln(os.Stderr, "soak:", err)
			}
		}
	}
}
