package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/race"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// inUse is the memory that the process holds on to, in bytes: heap and stacks.
func inUse() (heap, stack int64) {
	for range 3 { // what pools keep goes with the second collection
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse), int64(m.StackInuse)
}

// waves has three waves of connections made by a command, and returns what each connection of the third holds while it
// lasts: a process that has just begun flatters.
func waves(t *testing.T, command string, n, size int) (heap, stack int64) {
	t.Helper()
	if race.Enabled {
		t.Skip("the race detector needs memory of its own")
	}
	l := startLoad(t)
	g := gatewaytest.Start(t, open("", "", l.url), gatewaytest.LogTo(io.Discard))
	for range 3 {
		heap, stack = inUse()
		l.do("%s %d %d %s", command, n, size, g.Addr)
		if got := g.Clients(); got != n {
			t.Fatalf("%d connections are open", got)
		}
		heapThen, stackThen := inUse()
		heap, stack = (heapThen-heap)/int64(n), (stackThen-stack)/int64(n)
		l.do("end")
		g.Idle()
		g.Eventually("the clients have left", func() bool { return g.Clients() == 0 })
	}
	if heap+stack < 1<<10 { // a goroutine's stack alone is more
		t.Skipf("nothing was measured: %d bytes of heap and %d of stack; the process was still giving memory back", heap, stack)
	}
	return heap, stack
}

func kb(n int64) float64 { return float64(n) / 1024 }

// A stream in progress costs at most 40 KB, whatever the size of the request that began it: that has been let go.
func TestC130AllocPerStream(t *testing.T) {
	const bound = 40 << 10
	for _, size := range []int{200, 32 << 10, 1 << 20} {
		heap, stack := waves(t, "streams", 500, size)
		t.Logf("bodies of %7d bytes: %.1f KB a stream, %.1f of it heap and %.1f stack", size, kb(heap+stack), kb(heap), kb(stack))
		if heap+stack > bound {
			t.Errorf("bodies of %d bytes: a stream costs %d bytes of heap and %d of stack, %d are allowed", size, heap, stack, bound)
		}
	}
}

// A connection that rests costs less than 64 KB, whatever it has brought.
func TestC130AllocPerIdleConnection(t *testing.T) {
	const bound = 64 << 10
	for _, c := range []struct {
		command string
		size    int
	}{{"posts", 16 << 20}, {"heads", 29 << 10}} {
		heap, stack := waves(t, c.command, 100, c.size)
		t.Logf("%s of %8d bytes: %.1f KB an idle connection, %.1f of it heap and %.1f stack", c.command, c.size, kb(heap+stack), kb(heap), kb(stack))
		if heap+stack > bound {
			t.Errorf("%s of %d bytes: an idle connection holds %d bytes of heap and %d of stack, %d are allowed", c.command, c.size, heap, stack, bound)
		}
	}
}

// There is no limit on streams to one instance but the one that is configured.
func TestC132ManyStreamsToOneInstance(t *testing.T) {
	e := engine(t, sim.Behaviour{Tokens: 3, Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 2}})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	const n = 600
	var all sync.WaitGroup
	leave := make(chan struct{})
	for range n {
		c, r := send(t, g, post(chat, streamBody))
		all.Go(func() {
			defer c.Close()
			resp, err := http.ReadResponse(r, nil)
			if err != nil || resp.StatusCode != 200 {
				t.Errorf("%v %v", resp, err)
				return
			}
			if _, err := io.ReadFull(resp.Body, make([]byte, 6)); err != nil {
				t.Error(err)
			}
			<-leave
		})
	}
	g.Eventually("all streams are in flight", func() bool { return e.Inflight() == n && g.Inflight(e.URL()) == n })
	close(leave)
	all.Wait()
	g.Idle()
	for _, l := range g.WaitRequests(n) {
		if l["attempts"] != 1.0 || l["status"] != 200.0 {
			t.Fatalf("access log: %v", l)
		}
	}
}

// With a cap, what is beyond it is refused, and counts against nobody.
func TestC132BeyondTheCap(t *testing.T) {
	e := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 1}})
	g := gatewaytest.Start(t, strings.Replace(open(`"defaults": {"health": {"unhealthy_threshold": 1}}`, "", e.URL()), `"url":`, `"max_inflight": 50, "url":`, 1))
	served := 0
	for range 100 {
		_, r := send(t, g, post(chat, streamBody))
		switch resp := answer(t, r); resp.StatusCode {
		case 200:
			served++
		case 429:
			a := gatewaytest.Answer{Status: resp.StatusCode, Header: resp.Header}
			b, err := io.ReadAll(resp.Body)
			a.Body, a.Err = string(b), err
			readError(t, chat, a)
		default:
			t.Fatal(resp.Status)
		}
	}
	if served != 50 || e.Received() != 50 {
		t.Errorf("%d were served, the engine was asked %d times", served, e.Received())
	}
	e.Set(sim.Behaviour{})
	e.Reset()
	g.Idle()
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("afterwards: %d %s", a.Status, a.Body)
	}
}

// Reloads leave nothing behind: no goroutine, and no connection to what is no longer routed to.
func TestC133Reloads(t *testing.T) {
	one, two := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", one.URL()))
	c, r := send(t, g, "")
	ask := func() {
		t.Helper()
		if _, err := io.WriteString(c, post(chat, chatBody)); err != nil {
			t.Fatal(err)
		}
		expectOK(t, r)
	}
	ask()
	before := runtime.NumGoroutine()
	for i := range 200 {
		e := one
		if i%2 == 0 {
			e = two
		}
		g.Reload(open("", fmt.Sprintf(`"description": "%d"`, i), e.URL()))
		ask()
	}
	g.Eventually("one connection to one engine is left", func() bool { return g.Upstream.Open() == 1 && one.Open()+two.Open() == 1 })
	g.Eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
	if one.Received() != 101 || two.Received() != 100 {
		t.Errorf("%d and %d requests", one.Received(), two.Received())
	}
	if n := len(g.Fleet.Engines()); n > 2 {
		t.Errorf("%d engines are remembered", n)
	}
}

func expectOK(t testing.TB, r *bufio.Reader) {
	t.Helper()
	resp := answer(t, r)
	if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != 200 {
		t.Fatalf("%s %v", resp.Status, err)
	}
}
