package gateway_test

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// capped is a public route "m" with a queue, over one instance that takes one request at a time.
func capped(url, queue string) string {
	return fmt.Sprintf(`{"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q, "max_inflight": 1}]}],
		"routes": [{"name": "m", "access_policy": "public", "queue": %s, "targets": [{"model": "m"}]}]}`, url, queue)
}

// Test that who waits is served in the order of arrival, one at a time.
func TestQueueServesInOrder(t *testing.T) {
	e := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}})
	g := gatewaytest.Start(t, capped(e.URL(), `{"max": 10, "timeout": "1m"}`))
	first := g.Dial()
	io.WriteString(first, post(chat, chatBody))
	e.WaitRequests(1) // it holds the only place, and never ends

	var wg sync.WaitGroup
	for i := range 5 {
		wg.Go(func() {
			if a := g.Post(chat, chatBody, "X-Request-Id", fmt.Sprint("waits-", i)); a.Status != 200 {
				t.Errorf("%d: %d %s", i, a.Status, a.Body)
			}
		})
		g.Eventually("it waits", func() bool { return g.Table.Load().Route([]byte("m")).Queue.Line.Len() == i+1 })
	}
	if n := len(e.Requests()); n != 1 {
		t.Fatalf("the engine was asked %d times while it is full", n)
	}
	e.Set(sim.Behaviour{})
	first.Close() // the client that held the place leaves
	wg.Wait()
	for i, r := range e.Requests()[1:] {
		if got, want := r.Get("X-Request-Id"), fmt.Sprint("waits-", i); got != want {
			t.Errorf("request %d at the engine is %s", i, got)
		}
	}
}

func TestQueueRefuses(t *testing.T) {
	e := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}})
	g := gatewaytest.Start(t, capped(e.URL(), `{"max": 1, "timeout": "50ms"}`))
	line := g.Table.Load().Route([]byte("m")).Queue.Line
	first, second := g.Dial(), g.Dial()
	io.WriteString(first, post(chat, chatBody))
	e.WaitRequests(1)

	if a := g.Post(chat, chatBody); a.Status != 429 || a.Error("code") != "max_inflight" || a.Header.Get("Retry-After") == "" {
		t.Errorf("after its time in the queue: %d %s", a.Status, a.Body)
	}
	g.Reload(capped(e.URL(), `{"max": 1, "timeout": "1m"}`))
	io.WriteString(second, post(chat, chatBody))
	g.Eventually("one waits", func() bool { return line.Len() == 1 })
	if a := g.Post(chat, chatBody); a.Status != 429 || a.Error("code") != "max_inflight" {
		t.Errorf("with the queue full: %d %s", a.Status, a.Body)
	}
	second.Close() // who leaves the queue is forgotten at once
	g.Eventually("nobody waits", func() bool { return line.Len() == 0 })
	first.Close()
	g.Idle()
	if n := len(e.Requests()); n != 1 {
		t.Errorf("the engine was asked %d times", n)
	}
	for _, l := range g.WaitRequests(4) {
		if l["status"] == 499.0 && l["outcome"] != "client_closed" {
			t.Errorf("access log: %v", l)
		}
	}
}

// Test that a request that waits is served when an instance comes back from its ejection, of which no engine tells.
func TestQueueSeesAnInstanceReturn(t *testing.T) {
	busy, failing := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetBeforeHead}})
	routes := fmt.Sprintf(`{"models": [{"name": "m", "instances": [
			{"name": "busy", "url": %q, "max_inflight": 1}, {"name": "failing", "url": %q, "max_inflight": 1}]}],
		"routes": [{"name": "m", "access_policy": "public", "queue": {"timeout": "1m"}, "targets": [{"model": "m"}],
			"health": {"unhealthy_threshold": 1, "cooldown": "1s"}}]}`, busy.URL(), failing.URL())
	g := gatewaytest.Start(t, routes)
	g.Eventually("the failing one is ejected", func() bool {
		g.Post(chat, chatBody)
		return strings.Contains(g.Log(), "ejected")
	})
	busy.Set(sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}})
	failing.Set(sim.Behaviour{})
	before := len(busy.Requests())
	c := g.Dial()
	io.WriteString(c, post(chat, chatBody))
	busy.WaitRequests(before + 1)
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
	c.Close()
}
