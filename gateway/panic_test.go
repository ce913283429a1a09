package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/route"
)

// faulty is a policy that panics where a request's header says.
type faulty struct{}

func (faulty) at(r *lb.Request, where string) {
	if string(r.Header.Peek("X-Panic")) == where {
		panic("the plugin is broken: " + where)
	}
}

func (f faulty) Mark(r *lb.Request, _ *lb.Mark) *openai.Error {
	f.at(r, "mark")
	return nil
}

func (f faulty) Prepare(_ context.Context, r *lb.Request, _ []lb.Candidate, _ []bool) any {
	f.at(r, "prepare")
	return nil
}

func (f faulty) Vote(b *lb.Ballot) {
	f.at(b.Request, "vote")
	for i := range b.Scores {
		b.Scores[i] = 1
	}
}

func (f faulty) Picked(p lb.Picked) { f.at(p.Request, "picked") }

func faultyKind() plugins.Kind {
	return plugins.Kind{Name: "faulty", Weight: 1, Schema: `{"type": "object"}`, Build: func(s *plugins.Spec) lb.Voter {
		s.Decode(&struct{}{})
		return faulty{}
	}}
}

// A plugin's panic is an error to that one client. The place that it had is free again, however few there are.
func TestC123APanickingPlugin(t *testing.T) {
	e := engine(t, sim.Behaviour{Tokens: 40, BetweenTokens: 5 * time.Millisecond})
	routes := strings.Replace(open("", `"policies": {"faulty": {}}`, e.URL()), `"url":`, `"max_inflight": 2, "url":`, 1)
	g := gatewaytest.Start(t, routes, gatewaytest.Kinds(faultyKind()))
	running := make(chan gatewaytest.Answer)
	go func() { running <- g.Post(chat, streamBody) }()
	e.WaitRequests(1)
	sent := 0
	for range 3 {
		for _, where := range []string{"mark", "prepare", "vote", "picked"} {
			for _, path := range []string{chat, "/v1/messages"} {
				a := g.Post(path, streamBody, "X-Panic", where)
				if got := readError(t, path, a); a.Status != 500 || path == chat && got.code != "internal_error" || strings.Contains(a.Body, "broken") {
					t.Errorf("%s: %d %s", where, a.Status, a.Body)
				}
				sent++
			}
		}
	}
	if a := <-running; a.Status != 200 || a.Err != nil || !strings.HasSuffix(a.Body, "data: [DONE]\n\n") {
		t.Errorf("the stream that ran meanwhile: %d %v", a.Status, a.Err)
	}
	g.Idle()
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("afterwards: %d %s", a.Status, a.Body)
	}
	faults := 0
	for _, line := range g.WaitRequests(sent + 2) {
		if line["outcome"] == "internal_error" && line["status"] == 500.0 {
			faults++
		}
	}
	if n := strings.Count(g.Log(), `"panic":"the plugin is broken`); faults != sent || n != sent {
		t.Errorf("%d faults in the access log, %d with their stack, of %d", faults, n, sent)
	}
	if n := e.Received(); n != 2 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// trapped is a client's connection whose writes panic once it is armed.
type trapped struct {
	*net.TCPConn
	armed *atomic.Bool
}

func (c trapped) Write(p []byte) (int, error) {
	if c.armed.Load() {
		panic("the connection is broken")
	}
	return c.TCPConn.Write(p)
}

type trap struct {
	net.Listener
	armed *atomic.Bool
}

func (l trap) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return trapped{c.(*net.TCPConn), l.armed}, nil
}

// A panic while an answer is being passed on cuts that answer off, and no other.
func TestC123APanicMidStream(t *testing.T) {
	m := byHand(t)
	g := gatewaytest.Start(t, open("", "", m.url))
	armed := new(atomic.Bool)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(trap{ln, armed}) }()
	other, r := send(t, g, post(chat, streamBody))
	_ = other.SetDeadline(time.Now().Add(patience))
	o := m.next()
	o.say(streamHead + chunk("data: a\n\n"))
	answered := answer(t, r)
	expect(t, answered.Body, "data: a\n\n")
	for _, proto := range []string{"HTTP/1.1", "HTTP/1.0"} {
		c, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = c.SetDeadline(time.Now().Add(patience))
		if _, err := io.WriteString(c, strings.Replace(post(chat, streamBody), "HTTP/1.1", proto, 1)); err != nil {
			t.Fatal(err)
		}
		q := m.next()
		q.say(streamHead + chunk("data: 1\n\n"))
		victim := answer(t, bufio.NewReader(c))
		expect(t, victim.Body, "data: 1\n\n")
		armed.Store(true)
		q.say(chunk("data: 2\n\n"))
		if rest, err := io.ReadAll(victim.Body); len(rest) > 0 || err == nil {
			t.Errorf("%s: the answer seems to end: %q %v", proto, rest, err)
		}
		q.abandoned()
		q.end()
		armed.Store(false)
		c.Close()
	}
	for _, line := range g.WaitRequests(2) {
		if line["outcome"] != "internal_error" {
			t.Errorf("access log: %v", line)
		}
	}
	if n := strings.Count(g.Log(), `"panic":"the connection is broken"`); n != 2 {
		t.Errorf("the log tells of %d panics", n)
	}
	if n := g.Inflight(m.url); n != 1 {
		t.Errorf("%d in flight", n)
	}
	o.say(chunk("data: b\n\n") + lastChunk)
	expect(t, answered.Body, "data: b\n\n")
	ended(t, answered.Body)
	o.end()
	g.Idle()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	other.Close()
	g.Shutdown(ctx, 0)
	if err := <-served; err != nil {
		t.Error(err)
	}
}

// What a plugin breaks while the routes are read is told as a problem, and what served before goes on.
func TestC123APanicInAReload(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	kind := faultyKind()
	build, broken := kind.Build, false
	kind.Build = func(s *plugins.Spec) lb.Voter {
		if broken {
			panic("the plugin is broken")
		}
		return build(s)
	}
	routes := open("", `"policies": {"faulty": {}}`, e.URL())
	g := gatewaytest.Start(t, routes, gatewaytest.Kinds(kind))
	broken = true
	if err := os.WriteFile(g.File, []byte(routes+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	changed, problems, err := g.Table.Reload()
	if changed || err != nil || len(problems) != 1 || !strings.Contains(fmt.Sprint(problems), "broken") {
		t.Errorf("changed %v, %v, %v", changed, problems, err)
	}
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	broken = false
	if changed, problems, err = g.Table.Reload(); !changed || len(problems) > 0 || err != nil {
		t.Errorf("changed %v, %v, %v", changed, problems, err)
	}
}

// So is what breaks after the exchange: the snapshot serves, and the next reload is not kept waiting.
func TestC123APanicBehindASwap(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	broken := true
	table := route.NewTable(g.File, route.Options{Fleet: g.Fleet, Rand: rand.Uint64, OnSwap: func(*route.Snapshot) {
		if broken {
			panic("the hook is broken")
		}
	}})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("nobody is told that the hook is broken")
			}
		}()
		_, _, _ = table.Reload()
	}()
	if s := table.Load(); s == nil || s.Route([]byte("m")) == nil {
		t.Error("the snapshot does not serve")
	}
	broken = false
	if err := os.WriteFile(g.File, []byte(open("", "", e.URL())+" "), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, problems, err := table.Reload(); !changed || len(problems) > 0 || err != nil || table.Load().Generation != 2 {
		t.Errorf("changed %v, %v, %v", changed, problems, err)
	}
}
