// Package chaos is the proof that nothing is lost when everything around the gateway fails at once: thousands of
// requests over simulated engines that break in every way they can, from clients that leave at any moment, while the
// routes file changes under them. Then everything is counted.
//
// `make chaos` runs it and prints the figures. What is planned follows from a seed, which is printed, too:
// `go test -race -v ./internal/chaos -args -seed 7 -requests 50000`.
package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

var (
	seed     = flag.Uint64("seed", 0, "seed of the plan; 0 draws one")
	requests = flag.Int("requests", 20000, "how many requests are made")
	clients  = flag.Int("clients", 256, "how many clients make them at once")
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		// The HTTP server's own, one in the process, and one that looks for its end every few seconds.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// run is everything that takes part.
type run struct {
	t       *testing.T
	plan    *plan
	fleet   *fleet
	gateway *gatewaytest.Gateway
	results []result
	done    atomic.Int64 // requests that have ended

	reloads map[string]int
}

// Whatever happens around the gateway, every request ends once and in one way, holds no place afterwards, and who gets an
// answer gets one engine's answer, whole or visibly cut.
func TestChaos(t *testing.T) {
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d, %d requests, %d clients at once", *seed, *requests, *clients)
	r := &run{t: t, plan: newPlan(*seed, *requests), results: make([]result, *requests), reloads: map[string]int{}}
	before, _ := usage()
	r.fleet = startFleet(t, r.plan)
	t.Cleanup(func() { // behind that of the gateway, which has stopped then
		r.fleet.close()
		before.await(t, "everything has stopped")
	})
	first := version{attempts: 3}
	r.gateway = gatewaytest.Start(t, first.text(r.fleet.urls()), gatewaytest.Kinds(builtin.All(nil)...))
	idle, _ := usage()
	began := time.Now()
	r.traffic(&first)
	took := time.Since(began)
	r.gateway.Idle()
	if n := r.gateway.Table.Load().Route([]byte("queued")).Queue.Line.Len(); n != 0 {
		t.Errorf("%d still stand in line", n)
	}
	r.rest()
	idle.await(t, "the traffic has ended")
	a := r.account()
	a.figures(took)
}

// traffic makes the requests, and lets the engines and the routes file change all the while.
func (r *run) traffic(v *version) {
	var all sync.WaitGroup
	over := make(chan struct{})
	all.Go(func() { r.every(over, 30, func(n int) { r.fleet.weather(r.plan.rand(1000, n)) }) })
	all.Go(func() { r.every(over, 60, func(n int) { r.reload(r.plan.rand(2000, n), v) }) })
	var asking sync.WaitGroup
	var next atomic.Int64
	for range *clients {
		asking.Go(func() {
			c := client{addr: r.gateway.Addr}
			defer c.hangUp()
			for {
				n := int(next.Add(1) - 1)
				if n >= len(r.results) {
					return
				}
				r.results[n] = c.do(r.fit(&c, n))
				r.done.Add(1)
			}
		})
	}
	asking.Wait()
	close(over)
	all.Wait()
	r.fleet.calm()
}

// fit returns the n-th request. What a client knows of responses is not in the plan.
func (r *run) fit(c *client, n int) *request {
	q := &r.plan.requests[n]
	if q.kind == retrieval && c.previous == "" {
		q.kind, q.leaves = models, never
	}
	return q
}

// every does something each time that so many requests have ended.
func (r *run) every(over <-chan struct{}, requests int, do func(n int)) {
	for n := 1; ; n++ {
		for r.done.Load() < int64(n*requests) {
			select {
			case <-over:
				return
			case <-time.After(time.Millisecond):
			}
		}
		do(n)
	}
}

// reload changes the routes file, or spoils it.
func (r *run) reload(random *rand.Rand, v *version) {
	text := v.text(r.fleet.urls())
	what, serving := "refused", r.gateway.Table.Load()
	if chance(random, 250) {
		text = spoil(random, text)
	} else {
		what = "served"
		v.next(random)
		text = v.text(r.fleet.urls())
	}
	if err := os.WriteFile(r.gateway.File, []byte(text), 0o600); err != nil {
		r.t.Error(err)
	}
	changed, problems, err := r.gateway.Table.Reload()
	switch bad := len(problems) > 0 && problems[0].Level == route.FileError; {
	case err != nil:
		r.t.Errorf("a reload failed: %v", err)
	case what == "refused" && (!bad || changed || r.gateway.Table.Load() != serving):
		r.t.Errorf("a broken file was taken: %v\n%s", problems, text)
	case what == "served" && bad:
		r.t.Errorf("a file was refused: %v", problems)
	case what == "served" && !changed:
		what = "the same"
	}
	r.reloads[what]++
}

// rest waits until nobody is connected to anybody.
func (r *run) rest() {
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		clients, upstreams, engines := r.gateway.Clients(), r.gateway.Upstream.Open(), 0
		for _, e := range r.fleet.engines {
			engines += e.Open() + e.Inflight()
		}
		if clients == 0 && upstreams == 0 && engines == 0 {
			return
		}
		if time.Now().After(end) {
			_, stacks := usage()
			r.t.Fatalf("%d clients and %d upstreams are still connected, engines have %d connections and requests\n%s", clients, upstreams, engines, stacks)
		}
	}
}
