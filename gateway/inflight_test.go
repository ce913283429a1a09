package gateway_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
)

// trouble is what an engine does to a request with the header X-Do.
func trouble(do string) sim.Behaviour {
	switch do {
	case "400", "404", "429", "500", "503":
		status := 0
		_, _ = fmt.Sscan(do, &status) // these are numbers
		return sim.Behaviour{Status: status}
	case "":
		return sim.Behaviour{Tokens: 10}
	case string(sim.ShortBody):
		return sim.Behaviour{Fault: sim.Fault{Kind: sim.ShortBody, After: 10}}
	}
	return sim.Behaviour{Tokens: 10, Fault: sim.Fault{Kind: sim.FaultKind(do), After: 2}}
}

// Whatever becomes of requests, nothing is in flight once they are over, and each has one line in the log.
func TestC053NothingLeaks(t *testing.T) {
	var arrived sync.Map // channels by request id, closed when the engine has the request
	urls := make([]string, 3)
	for i := range urls {
		e := engine(t, sim.Behaviour{})
		e.Hook(func(q *sim.Request) sim.Behaviour {
			if c, ok := arrived.LoadAndDelete(q.Get("X-Request-Id")); ok {
				close(c.(chan struct{}))
			}
			return trouble(q.Get("X-Do"))
		})
		urls[i] = e.URL()
	}
	routes := open("", `"policies": {"faulty": {}, "least_inflight": {}}, "timeouts": {"first_byte": "200ms"}, "health": {"cooldown": "50ms"}`, urls[0], urls[1], refusing(t), urls[2])
	g := gatewaytest.Start(t, strings.ReplaceAll(routes, `"url":`, `"max_inflight": 6, "url":`), gatewaytest.Kinds(faultyKind(), leastinflight.New()))
	do := func(what string) func(id string) {
		return func(id string) {
			g.Post(chat, streamBody, "X-Do", what, "X-Request-Id", id)
			g.Post(chat, chatBody, "X-Do", what, "X-Request-Id", id)
		}
	}
	// leave goes away when the engine has the request, or when the client has read so many lines of the answer.
	leave := func(what string, lines int) func(id string) {
		return func(id string) {
			bodies := []string{streamBody, chatBody}
			if lines > 0 {
				bodies[1] = streamBody // an answer that is whole has no lines to read
			}
			for _, body := range bodies {
				at := make(chan struct{})
				arrived.Store(id, at)
				c, r := send(t, g, post(chat, body, "X-Do: "+what, "X-Request-Id: "+id))
				_ = c.SetDeadline(time.Now().Add(patience))
				if lines == 0 {
					answered := make(chan struct{}) // by the gateway: no engine would have it
					go func() {
						defer close(answered)
						_, _ = r.Peek(1) // whatever comes
					}()
					select {
					case <-at:
					case <-answered:
					}
				}
				for i := range lines {
					line, err := r.ReadString('\n')
					if err != nil || i == 0 && !strings.Contains(line, " 200 ") { // an error has fewer lines
						break
					}
				}
				c.Close()
			}
		}
	}
	kinds := []func(id string){
		do(""), do("400"), do("404"), do("429"), do("500"), do("503"), do(string(sim.ResetBeforeHead)), do(string(sim.ResetAfterHead)), do(string(sim.ResetAfterEvents)),
		do(string(sim.CloseAfterEvents)), do(string(sim.ShortBody)), do(string(sim.Silent)), leave(string(sim.Silent), 0),
		leave(string(sim.SilentAfterEvents), 9),
		func(id string) {
			for _, where := range []string{"mark", "prepare", "vote", "picked"} {
				g.Post(chat, chatBody, "X-Panic", where, "X-Request-Id", id)
			}
		},
		func(id string) {
			g.Post(chat, `{"model": "m"`, "X-Request-Id", id)
			g.Post(chat, `{"model": "nothing"}`, "X-Request-Id", id)
			g.Post("/v1/nothing", "{}", "X-Request-Id", id)
			g.Post(chat, chatBody, "X-Request-Id", id, "x-api-key", "a", "Authorization", "Bearer b")
		},
	}
	const workers, rounds = 8, 3
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			for i := range rounds * len(kinds) {
				kinds[(i+w*5)%len(kinds)](fmt.Sprintf("w%d-%d", w, i))
			}
		})
	}
	group.Wait()
	g.Idle()
	for _, e := range g.Fleet.Engines() {
		if n := e.Inflight(); n != 0 {
			t.Errorf("%d in flight at %s", n, e.URL())
		}
	}
	// 14 kinds of two requests, two of four.
	const want = workers * rounds * (14*2 + 2*4)
	outcomes := map[any]int{}
	for _, l := range g.WaitRequests(want) {
		outcomes[l["outcome"]]++
	}
	if n := len(g.Requests()); n != want {
		t.Errorf("%d lines for %d requests: %v", n, want, outcomes)
	}
	for _, o := range []string{"ok", "client_closed", "upstream_error", "upstream_aborted", "rejected", "internal_error"} {
		if outcomes[o] == 0 {
			t.Errorf("no request ended as %s: %v", o, outcomes)
		}
	}
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("afterwards: %d %s", a.Status, a.Body)
	}
}

// A request counts until its answer has ended, not until its head has come.
func TestC054CountedToTheEnd(t *testing.T) {
	m := byHand(t)
	g := gatewaytest.Start(t, open("", "", m.url))
	var calls []*call
	var bodies []io.ReadCloser
	for i := range 5 {
		c, r := send(t, g, post(chat, streamBody))
		_ = c.SetDeadline(time.Now().Add(patience))
		q := m.next()
		if n := g.Inflight(m.url); n != int64(i+1) {
			t.Fatalf("%d in flight while request %d waits for its head", n, i)
		}
		q.say(streamHead)
		resp := answer(t, r)
		q.say(chunk("data: 1\n\n"))
		expect(t, resp.Body, "data: 1\n\n")
		calls, bodies = append(calls, q), append(bodies, resp.Body)
	}
	for i, q := range calls {
		q.say(chunk("data: 2\n\n"))
		expect(t, bodies[i], "data: 2\n\n")
		if n := g.Inflight(m.url); n != int64(5-i) {
			t.Fatalf("%d in flight while %d streams run", n, 5-i)
		}
		q.say(lastChunk)
		ended(t, bodies[i])
		g.Eventually("the stream that ended is not counted", func() bool { return g.Inflight(m.url) == int64(4-i) })
		q.end()
	}
}

// A request counts before the upstream has said anything: those that come while it is being prefilled see it.
func TestC055CountedFromTheStart(t *testing.T) {
	engines := cluster(t, 4)
	for _, e := range engines {
		e.Hook(func(*sim.Request) sim.Behaviour { return sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}} })
	}
	g := gatewaytest.Start(t, balanced(engines, 4, `"policies": {"least_inflight": {}}`), kinds())
	for round := range 3 {
		var conns []net.Conn
		for i := range engines {
			c, _ := send(t, g, post(chat, streamBody))
			conns = append(conns, c)
			g.Eventually("the request has arrived", func() bool {
				sum := 0
				for _, e := range engines {
					sum += e.Inflight()
				}
				return sum == i+1
			})
		}
		for i, e := range engines {
			if n := e.Inflight(); n != 1 || g.Inflight(e.URL()) != 1 {
				t.Errorf("round %d: engine %d has %d requests", round, i, n)
			}
		}
		for _, c := range conns {
			c.Close()
		}
		g.Eventually("the engines are idle", func() bool {
			for _, e := range engines {
				if e.Inflight() != 0 {
					return false
				}
			}
			return true
		})
		g.Idle()
	}
}

// Nothing forgets a request because of its age. All limits on clients are short, and it outlives them all, and reloads.
func TestC057SilenceIsNotTheEnd(t *testing.T) {
	const short = 100 * time.Millisecond
	e := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 1}})
	prefilling := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}})
	for _, silent := range []*sim.Engine{e, prefilling} {
		routes := strings.Replace(open("", `"timeouts": {"connect": "100ms", "first_byte": "0s", "idle": "0s", "client_stall": "100ms"}, "health": {"cooldown": "100ms", "ramp": "100ms"},
			"retry": {"deadline": "100ms"}`, silent.URL()), `"url":`, `"max_inflight": 1, "url":`, 1)
		g := gatewaytest.Start(t, routes, gatewaytest.Limits(gateway.Limits{Request: short, Idle: short, Stall: short}))
		c, _ := send(t, g, post(chat, streamBody))
		g.Eventually("the request has arrived", func() bool { return silent.Inflight() == 1 })
		for range 5 {
			time.Sleep(2 * short) // the time that passes is what is tested
			routes += " "
			g.Reload(routes)
			if n := g.Inflight(silent.URL()); n != 1 {
				t.Fatalf("%d in flight", n)
			}
			if a := g.Post(chat, chatBody); a.Status != 429 {
				t.Fatalf("there is room beside it: %d %s", a.Status, a.Body)
			}
		}
		if n := silent.Inflight(); n != 1 {
			t.Errorf("the engine has %d requests", n)
		}
		_ = c.SetReadDeadline(time.Now())
		if _, err := io.Copy(io.Discard, bufio.NewReader(c)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the stream has ended: %v", err)
		}
		c.Close()
		g.Idle()
	}
}
