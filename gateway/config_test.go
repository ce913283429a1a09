package gateway_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// A file that can't be used changes nothing, says why, and is got over by the next good one.
func TestC060ABadFileChangesNothing(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	good := keyed(e.URL())
	g := gatewaytest.Start(t, good)
	before := g.Table.Load()
	another := strings.Replace(good, `"routes": [`, `"routes": [{"name": "new", "access_policy": "public", "targets": [{"model": "m"}]}, `, 1)
	for name, bad := range map[string]string{
		"empty":           "",
		"spaces":          " \n",
		"half written":    another[:len(another)/2],
		"cut at the end":  strings.TrimSuffix(strings.TrimSpace(another), "}"),
		"null":            "null",
		"list":            "[]",
		"trailing text":   another + "x",
		"binary":          "\x00\x01\x02",
		"wrong type":      strings.Replace(another, `"routes": [`, `"routes": {`, 1),
		"unknown field":   strings.Replace(another, `"routes"`, `"rotes": [], "routes"`, 1),
		"duplicate route": strings.Replace(another, `"name": "mine"`, `"name": "open"`, 1),
		"duplicate key":   strings.Replace(another, `"api_keys"`, `"routes": [], "api_keys"`, 1),
		"unknown model":   strings.Replace(another, `{"model": "m"}`, `{"model": "x"}`, 1),
		"bad URL":         strings.Replace(another, `"url": "http`, `"url": "htp`, 1),
		"bad digest":      strings.Replace(another, `"sha256": "`, `"sha256": "x`, 1),
		"no variable":     strings.Replace(another, `"routes"`, `"providers": [{"name": "p", "type": "openai", "endpoint": "http://x", "api_token": "${MISSING}"}], "routes"`, 1),
	} {
		if err := os.WriteFile(g.File, []byte(bad), 0o600); err != nil {
			t.Fatal(err)
		}
		changed, problems, err := g.Table.Reload()
		if changed || err != nil || len(problems) == 0 || !g.Table.Status().Refused || len(g.Table.Status().Problems) != len(problems) {
			t.Errorf("%s: changed %v, problems %v, error %v", name, changed, problems, err)
		}
		for _, p := range problems {
			if text := p.String(); !strings.Contains(text, "/routes.json:") {
				t.Errorf("%s: a problem without its place: %s", name, text)
			}
			noSecrets(t, p.String(), aliceKey, bobKey)
		}
		if g.Table.Load() != before {
			t.Fatalf("%s: something else serves", name)
		}
		if got := modelIDs(t, g.Do("GET", "/v1/models", "", "x-api-key", aliceKey)); got != "mine any open" {
			t.Errorf("%s: routes %q", name, got)
		}
		if a := g.Post(chat, strings.Replace(chatBody, `"m"`, `"mine"`, 1), "x-api-key", aliceKey); a.Status != 200 {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
	}
	g.Reload(another)
	if g.Table.Status().Refused || g.Table.Load().Generation != before.Generation+1 {
		t.Errorf("%+v, generation %d", g.Table.Status(), g.Table.Load().Generation)
	}
	if a := g.Post(chat, strings.Replace(chatBody, `"m"`, `"new"`, 1)); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// A route that can't serve leaves the others alone.
func TestC060ABadRouteIsItsOwn(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, keyed(e.URL()))
	g.Reload(strings.Replace(keyed(e.URL()), `"targets": [{"model": "m"}]}`, `"targets": [{"model": "m", "weight": 1}, {"model": "m", "overridden_model_name": "x"}]}`, 1))
	for model, want := range map[string]int{"mine": 503, "any": 200, "open": 200} {
		a := g.Post(chat, strings.Replace(chatBody, `"m"`, `"`+model+`"`, 1), "x-api-key", aliceKey)
		if a.Status != want || want == 503 && a.Error("code") != "route_unavailable" {
			t.Errorf("%s: %d %s", model, a.Status, a.Body)
		}
	}
}

// 20 streams outlive an edit elsewhere, and one that takes away what they run on. New requests follow the file.
func TestC061StreamsOutliveReloads(t *testing.T) {
	m, next := byHand(t), engine(t, sim.Behaviour{})
	old := open("", "", m.url)
	g := gatewaytest.Start(t, old)
	type stream struct {
		q    *call
		body io.Reader
	}
	streams := make([]stream, 20)
	for i := range streams {
		c, r := send(t, g, post(chat, streamBody))
		_ = c.SetDeadline(time.Now().Add(patience))
		streams[i].q = m.next()
		streams[i].q.say(streamHead + chunk("data: 0\n\n"))
		resp := answer(t, r)
		streams[i].body = bufio.NewReader(resp.Body)
		expect(t, streams[i].body, "data: 0\n\n")
	}
	for i, routes := range []string{old + " ", open(`"defaults": {"retry": {"max_attempts": 2}}`, "", m.url), open("", "", next.URL()), open("", "", next.URL()) + " "} {
		g.Reload(routes)
		for _, s := range streams {
			s.q.say(chunk(fmt.Sprintf("data: %d\n\n", i+1)))
			expect(t, s.body, fmt.Sprintf("data: %d\n\n", i+1))
		}
		if n := g.Inflight(m.url); n != 20 && i < 2 {
			t.Errorf("after reload %d: %d in flight", i, n)
		}
		if i >= 2 {
			if a := g.Post(chat, chatBody); a.Status != 200 || next.Received() != i-1 {
				t.Errorf("after reload %d a new request: %d %s", i, a.Status, a.Body)
			}
		}
	}
	m.none()
	for _, s := range streams {
		s.q.say(lastChunk)
		ended(t, s.body)
		s.q.abandoned() // its address is no longer in use, so the connection does not go back to a pool
		s.q.end()
	}
	for _, l := range g.WaitRequests(22)[2:] {
		if l["outcome"] != "ok" {
			t.Errorf("access log: %v", l)
		}
	}
	g.Eventually("the removed engine is forgotten", func() bool { return len(g.Fleet.Engines()) == 1 })
}

// After a reload nothing is sent to an address that has gone from the file, over whatever connection.
func TestC063AnInstanceMoves(t *testing.T) {
	former, latter := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", former.URL()))
	var moved atomic.Bool
	var clients sync.WaitGroup
	stop := make(chan struct{})
	late := make(chan string, 1000)
	for i := range 8 {
		clients.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("id-%d-%d", i, n)
				after := moved.Load()
				if a := g.Post(chat, chatBody, "X-Request-Id", id); a.Status != 200 {
					t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
					return
				}
				if after {
					select {
					case late <- id:
					default:
						return
					}
				}
			}
		})
	}
	former.WaitRequests(100)
	g.Reload(open("", "", latter.URL()))
	moved.Store(true)
	latter.WaitRequests(100)
	gatewaytest.Eventually(t, "requests have begun after the reload", func() bool { return len(late) > 50 || t.Failed() })
	close(stop)
	clients.Wait()
	g.Eventually("no connection to the former address is left", func() bool { return former.Open() == 0 })
	sent := map[string]bool{}
	for _, q := range former.Requests() {
		sent[q.Get("X-Request-Id")] = true
	}
	for range len(late) {
		if id := <-late; sent[id] {
			t.Errorf("%s began after the reload and went to the former address", id)
		}
	}
}

// The gateway stops: it says so first, serves on for the grace period, lets streams finish, and cuts what outlasts the
// limit. Times are scaled down by ten.
func TestC066Shutdown(t *testing.T) {
	t.Run("plain", func(t *testing.T) { shutdown(t) })
	t.Run("TLS", func(t *testing.T) { shutdown(t, gatewaytest.TLS()) })
}

func shutdown(t *testing.T, options ...gatewaytest.Option) {
	t.Helper()
	m := byHand(t)
	idle := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{
		"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q}]}, {"name": "i", "instances": [{"name": "i-1", "url": %q}]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}]}, {"name": "i", "access_policy": "public", "targets": [{"model": "i"}]}]}`,
		m.url, idle.URL()), options...)
	quick := strings.Replace(chatBody, `"m"`, `"i"`, 1)

	resting, r := send(t, g, post(chat, quick))
	_ = resting.SetDeadline(time.Now().Add(patience))
	if a := answerTo(t, r, "POST"); a.Status != 200 {
		t.Fatalf("%d %s", a.Status, a.Body)
	}
	streams := make([]*call, 21)
	bodies := make([]io.Reader, 21)
	for i := range streams {
		c, r := send(t, g, post(chat, streamBody))
		_ = c.SetDeadline(time.Now().Add(patience))
		streams[i] = m.next()
		streams[i].say(streamHead + chunk("data: 0\n\n"))
		bodies[i] = answer(t, r).Body
		expect(t, bodies[i], "data: 0\n\n")
	}
	if g.Draining() {
		t.Error("it drains before it is told to")
	}
	limit, cancel := context.WithCancel(t.Context())
	defer cancel()
	stopped := make(chan int, 1)
	go func() { stopped <- g.Shutdown(limit, time.Second) }()
	g.Eventually("it says that it drains", g.Draining)
	for range 3 { // whoever balances over gateways may not have noticed yet
		if a := g.Post(chat, quick); a.Status != 200 {
			t.Errorf("during the grace period: %d %s %v", a.Status, a.Body, a.Err)
		}
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("an idle connection ends with %q %v", rest, err)
	}
	g.Eventually("nobody is listened to", func() bool {
		c, err := net.Dial("tcp", g.Addr)
		if err == nil {
			c.Close()
		}
		return err != nil
	})
	for i, q := range streams[:20] {
		q.say(chunk("data: 1\n\n") + lastChunk)
		expect(t, bodies[i], "data: 1\n\n")
		ended(t, bodies[i])
		q.end()
	}
	g.Eventually("one stream is left", func() bool { return g.Active() == 1 && g.Clients() == 1 })
	select {
	case <-stopped:
		t.Fatal("it stops before its limit while a stream runs")
	default:
	}
	cancel() // the drain limit
	if rest, err := io.ReadAll(bodies[20]); len(rest) > 0 || err == nil {
		t.Errorf("the stream that was cut ends with %q %v", rest, err)
	}
	streams[20].abandoned()
	streams[20].end()
	select {
	case cut := <-stopped:
		if cut != 1 {
			t.Errorf("%d connections were cut", cut)
		}
	case <-time.After(patience):
		t.Fatal("it does not stop")
	}
	if g.Active() != 0 || g.Clients() != 0 {
		t.Errorf("%d requests, %d clients are left", g.Active(), g.Clients())
	}
	lines := g.WaitRequests(25)
	for i, l := range lines {
		want := "ok"
		if i == len(lines)-1 {
			want = "shutdown"
		}
		if l["outcome"] != want || l["status"] != float64(http.StatusOK) {
			t.Errorf("line %d of the access log: %v", i, l)
		}
	}
}

// With nothing to wait for it stops at once, and requests that are waiting for an instance are no reason to hang.
func TestC066ShutdownAtOnce(t *testing.T) {
	silent := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.Silent}})
	g := gatewaytest.Start(t, open("", "", silent.URL()))
	if cut := g.Shutdown(t.Context(), 0); cut != 0 {
		t.Errorf("%d connections were cut", cut)
	}
	g = gatewaytest.Start(t, capped(silent.URL(), `{"max": 10, "timeout": "1h"}`))
	running, _ := send(t, g, post(chat, streamBody))
	silent.WaitRequests(1)
	waiting, _ := send(t, g, post(chat, streamBody))
	g.Eventually("a request waits", func() bool { return g.Table.Load().Route([]byte("m")).Queue.Line.Len() == 1 })
	over, cancel := context.WithCancel(t.Context())
	cancel()
	if cut := g.Shutdown(over, time.Hour); cut != 2 {
		t.Errorf("%d connections were cut", cut)
	}
	for _, c := range []net.Conn{running, waiting} {
		_ = c.SetDeadline(time.Now().Add(patience))
		if rest, _ := io.ReadAll(c); strings.Contains(string(rest), " 200 ") {
			t.Errorf("a request that was cut got %q", rest)
		}
	}
	if g.Active() != 0 {
		t.Errorf("%d requests are left", g.Active())
	}
	gatewaytest.Eventually(t, "the engine is left alone", func() bool { return silent.Open() == 0 })
}

// A gateway that is stopped before it has begun does not begin.
func TestC066ShutdownBeforeServe(t *testing.T) {
	g := gatewaytest.Start(t, open("", "", engine(t, sim.Behaviour{}).URL()))
	g.Shutdown(t.Context(), 0)
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Serve(ln); err != nil {
		t.Error(err)
	}
	if c, err := net.Dial("tcp", ln.Addr().String()); err == nil {
		c.Close()
		t.Error("it listens")
	}
}
