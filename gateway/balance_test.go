package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/plugins/leastinflight"
	"github.com/gpustack/gpustack-gateway/plugins/sessionaffinity"
)

// caller sends requests one after the other over one connection.
type caller struct {
	t testing.TB
	c net.Conn
	r *bufio.Reader
}

func newCaller(t testing.TB, g *gatewaytest.Gateway) *caller {
	t.Helper()
	c := g.Dial()
	_ = c.SetDeadline(time.Now().Add(5 * patience))
	return &caller{t, c, bufio.NewReader(c)}
}

// post sends a request and returns the name of the instance that served it, which the routes must tell in debug headers.
func (k *caller) post(path, body string, headers ...string) string {
	k.t.Helper()
	if _, err := io.WriteString(k.c, post(path, body, headers...)); err != nil {
		k.t.Fatal(err)
	}
	a := answerTo(k.t, k.r, "POST")
	if a.Status != 200 || a.Err != nil {
		k.t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
	}
	return a.Header.Get("X-Gpustack-Instance")
}

// cluster is a number of engines, which hold on to requests with the header X-Hold until their client leaves.
func cluster(t testing.TB, n int) []*sim.Engine {
	t.Helper()
	engines := make([]*sim.Engine, n)
	for i := range engines {
		engines[i] = engine(t, sim.Behaviour{})
		engines[i].Hook(func(q *sim.Request) sim.Behaviour {
			if q.Get("X-Hold") != "" {
				return sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 1}}
			}
			return sim.Behaviour{}
		})
	}
	return engines
}

// balanced is a public route "m" over the first n of some engines, m-1 and so on, and a public route to each alone, to
// put load on it.
func balanced(engines []*sim.Engine, n int, route string) string {
	var instances, models, routes []string
	for i, e := range engines {
		if i < n {
			instances = append(instances, fmt.Sprintf(`{"name": "m-%d", "url": %q}`, i+1, e.URL()))
		}
		models = append(models, fmt.Sprintf(`{"name": "only-m-%d", "instances": [{"name": "m-%d", "url": %q}]}`, i+1, i+1, e.URL()))
		routes = append(routes, fmt.Sprintf(`{"name": "only-m-%d", "access_policy": "public", "targets": [{"model": "only-m-%d"}]}`, i+1, i+1))
	}
	return fmt.Sprintf(`{
		"models": [{"name": "m", "instances": [%s]}, %s],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}], %s}, %s],
		"defaults": {"debug_headers": true}}`,
		strings.Join(instances, ", "), strings.Join(models, ", "), route, strings.Join(routes, ", "))
}

// occupy puts requests on one instance that run until the function returned is called.
func occupy(t testing.TB, g *gatewaytest.Gateway, instance string, n int) (release func()) {
	t.Helper()
	var conns []net.Conn
	for range n {
		conns = append(conns, hold(t, g, "only-"+instance, "X-Hold: 1"))
	}
	return func() {
		for _, c := range conns {
			c.Close()
		}
		g.Idle()
	}
}

func kinds() gatewaytest.Option { return gatewaytest.Kinds(sessionaffinity.New(), leastinflight.New()) }

func TestC037WeightsAreOfTargets(t *testing.T) {
	a, b := cluster(t, 1), cluster(t, 8)
	routes := func(n int) string {
		var instances []string
		for i, e := range b[:n] {
			instances = append(instances, fmt.Sprintf(`{"name": "b-%d", "url": %q}`, i+1, e.URL()))
		}
		return fmt.Sprintf(`{
			"models": [{"name": "a", "instances": [{"name": "a-1", "url": %q}]}, {"name": "b", "instances": [%s]}],
			"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "a", "weight": 95}, {"model": "b", "weight": 5}]}],
			"defaults": {"debug_headers": true}}`, a[0].URL(), strings.Join(instances, ", "))
	}
	g := gatewaytest.Start(t, routes(8))
	k := newCaller(t, g)
	for _, n := range []int{8, 2} {
		g.Reload(routes(n))
		served := map[string]int{}
		for range 2000 {
			served[k.post(chat, chatBody)]++
		}
		if served["a-1"] < 1860 || served["a-1"] > 1940 {
			t.Errorf("with %d instances of b: %v", n, served)
		}
		for i := range n {
			if got := served[fmt.Sprintf("b-%d", i+1)]; got < 100/n-1 || got > 100/n+2 {
				t.Errorf("with %d instances of b: %v", n, served)
			}
		}
	}
}

func TestC038OneAddressManyModels(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	var models, targets []string
	for _, name := range []string{"base", "lora-1", "lora-2", "lora-3"} {
		models = append(models, fmt.Sprintf(`{"name": %q, "instances": [{"name": "i", "url": %q}]}`, name, e.URL()))
		targets = append(targets, fmt.Sprintf(`{"model": %q, "overridden_model_name": "adapted-%s", "weight": 25}`, name, name))
	}
	for _, list := range []string{strings.Join(targets, ", "), strings.ReplaceAll(strings.Join(targets, ", "), `, "weight": 25`, "")} {
		g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [%s], "routes": [{"name": "m", "access_policy": "public", "targets": [%s]}]}`,
			strings.Join(models, ", "), list))
		before := e.Received()
		k := newCaller(t, g)
		for range 200 {
			k.post(chat, chatBody)
		}
		asked := map[string]int{}
		for _, q := range e.Requests()[before:] {
			asked[q.Model]++
		}
		for _, name := range []string{"adapted-base", "adapted-lora-1", "adapted-lora-2", "adapted-lora-3"} {
			if asked[name] != 50 {
				t.Errorf("asked for %v", asked)
			}
		}
	}
}

func TestC039NobodyIsFirst(t *testing.T) {
	engines := cluster(t, 4)
	for name, route := range map[string]string{"policy": `"policies": {"least_inflight": {}}`, "round robin": `"policies": {}`} {
		g := gatewaytest.Start(t, balanced(engines, 4, route), kinds())
		k, served := newCaller(t, g), map[string]int{}
		for range 400 {
			served[k.post(chat, chatBody)]++
		}
		for i := range engines { // ties are broken at random: 50 are almost six standard deviations
			if n := served[fmt.Sprintf("m-%d", i+1)]; n < 50 || n > 150 {
				t.Errorf("%s, one by one: %v", name, served)
			}
		}
		burst(t, g, engines, 100, 25)
	}
}

// burst sends requests at the same moment, none of which ends before all have arrived, and checks how many came to each
// engine, give or take one.
func burst(t *testing.T, g *gatewaytest.Gateway, engines []*sim.Engine, n, each int) {
	t.Helper()
	before := make([]int, len(engines))
	for i, e := range engines {
		before[i] = e.Inflight()
	}
	conns := make([]net.Conn, n)
	for i := range conns {
		conns[i] = g.Dial()
	}
	start := make(chan struct{})
	for _, c := range conns {
		go func() {
			<-start
			_, _ = io.WriteString(c, post(chat, streamBody, "X-Hold: 1")) // the engine tells
		}()
	}
	close(start)
	counts := make([]int, len(engines))
	g.Eventually("all of the burst have arrived", func() bool {
		sum := 0
		for i, e := range engines {
			counts[i] = e.Inflight() - before[i]
			sum += counts[i]
		}
		return sum == n
	})
	for i, e := range engines {
		if counts[i] < each-1 || counts[i] > each+1 || g.Inflight(e.URL()) != int64(e.Inflight()) {
			t.Errorf("a burst of %d is spread as %v", n, counts)
		}
	}
	for _, c := range conns {
		c.Close()
	}
	g.Idle()
	g.Eventually("the engines are idle", func() bool {
		for _, e := range engines {
			if e.Inflight() != 0 {
				return false
			}
		}
		return true
	})
}

// 50 streams run on one of three. An edit of the file that changes nothing for them does not make it look idle.
func TestC045ReloadsForgetNothing(t *testing.T) {
	engines := cluster(t, 3)
	routes := balanced(engines, 3, `"policies": {"least_inflight": {}}`)
	g := gatewaytest.Start(t, routes, kinds())
	release := occupy(t, g, "m-1", 50)
	k := newCaller(t, g)
	for i := range 40 {
		routes += " "
		if i == 20 { // an edit that changes something, elsewhere
			routes = strings.Replace(routes, `"debug_headers": true`, `"debug_headers": true, "retry": {"max_attempts": 2}`, 1)
		}
		g.Reload(routes)
		if instance := k.post(chat, chatBody); instance == "m-1" {
			t.Errorf("request %d went to the instance with 50 streams", i)
		}
		if n := g.Inflight(engines[0].URL()); n != 50 {
			t.Fatalf("%d in flight after a reload", n)
		}
	}
	release()

	// The turn goes on as well: the first in the file does not get the first request after every reload.
	g = gatewaytest.Start(t, balanced(engines, 3, `"policies": {}`))
	k, routes = newCaller(t, g), balanced(engines, 3, `"policies": {}`)
	served := map[string]int{}
	for range 30 {
		routes += " "
		g.Reload(routes)
		served[k.post(chat, chatBody)]++
	}
	for i := range engines {
		if served[fmt.Sprintf("m-%d", i+1)] != 10 {
			t.Errorf("with a reload before each of 30 requests: %v", served)
		}
	}
}

// Six requests at once for two places: two are served, four are told to come back.
func TestC048TheCapIsExact(t *testing.T) {
	engines := cluster(t, 2)
	for _, policies := range []string{`{"least_inflight": {}}`, `{"session_affinity": {}}`, `{}`} {
		routes := balanced(engines, 2, `"policies": `+policies)
		routes = strings.ReplaceAll(routes, `"url":`, `"max_inflight": 1, "url":`)
		g := gatewaytest.Start(t, routes, kinds())
		for range 5 {
			statuses := make(chan int)
			conns := make([]net.Conn, 6)
			for i := range conns {
				conns[i] = g.Dial()
				_ = conns[i].SetDeadline(time.Now().Add(patience))
			}
			for _, c := range conns {
				go func() {
					_, _ = io.WriteString(c, post(chat, streamBody, "X-Hold: 1", "session-id: one")) // the answer tells
					resp := answerHead(bufio.NewReader(c))
					statuses <- resp
				}()
			}
			count := map[int]int{}
			for range conns {
				count[<-statuses]++
			}
			if count[200] != 2 || count[429] != 4 {
				t.Errorf("%s: %v", policies, count)
			}
			for _, e := range engines {
				if n := g.Inflight(e.URL()); n != 1 {
					t.Errorf("%s: %d in flight", policies, n)
				}
			}
			for _, c := range conns {
				c.Close()
			}
			g.Idle()
		}
	}
	for _, e := range engines {
		if n := e.Received(); n != 15 {
			t.Errorf("an engine was asked %d times in 15 rounds", n)
		}
	}
}

// answerHead is the status of an answer, 0 if there is none.
func answerHead(r *bufio.Reader) (status int) {
	line, _ := r.ReadString('\n') // a status that is missing tells as well
	_, _ = fmt.Sscanf(line, "HTTP/1.1 %d", &status)
	return status
}

// Every instance being full is a 429 to fallback targets as well.
func TestC048FullIsAStatusToFallback(t *testing.T) {
	full, spare := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 1}}), engine(t, sim.Behaviour{})
	for codes, want := range map[string]int{`"429"`: 200, `"4xx"`: 200, `"5xx"`: 429, `"503"`: 429} {
		g := gatewaytest.Start(t, fmt.Sprintf(`{
			"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q, "max_inflight": 1}]}, {"name": "o", "instances": [{"name": "o-1", "url": %q}]}],
			"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}, {"model": "o", "fallback_status_codes": [%s]}]}]}`,
			full.URL(), spare.URL(), codes))
		c := hold(t, g, "m")
		a := g.Post(chat, chatBody)
		if a.Status != want || want == 429 && (a.Error("code") != "max_inflight" || a.Header.Get("Retry-After") == "") {
			t.Errorf("fallback for %s: %d %s", codes, a.Status, a.Body)
		}
		c.Close()
		g.Idle()
	}
}
