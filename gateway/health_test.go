package gateway_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/lb"
)

// health is the health of the engine at a URL.
func health(t testing.TB, g *gatewaytest.Gateway, url string) lb.Status {
	t.Helper()
	for _, e := range g.Fleet.Engines() {
		if e.URL() == url {
			return e.Health(time.Now()).Status
		}
	}
	t.Fatalf("no engine at %s", url)
	return 0
}

// An instance that fails at once always has the fewest requests. It gets no more of them than it takes to eject it, and
// those that are under way at that moment.
func TestC042FailingFastAttractsNobody(t *testing.T) {
	broken := engine(t, sim.Behaviour{Status: 503})
	well := engine(t, sim.Behaviour{HeadDelay: 20 * time.Millisecond})
	g := gatewaytest.Start(t, open("", `"policies": {"least_inflight": {}}, "health": {"cooldown": "1h"}`, broken.URL(), well.URL()), kinds())
	const clients, each = 8, 25
	var group sync.WaitGroup
	for range clients {
		group.Go(func() {
			for range each {
				if a := g.Post(chat, chatBody); a.Status != 200 {
					t.Errorf("%d %s %v", a.Status, a.Body, a.Err)
				}
			}
		})
	}
	group.Wait()
	if n := broken.Received(); n < 3 || n > 3+clients-1 || well.Received() != clients*each {
		t.Errorf("the broken one was asked %d times, the other one %d times", n, well.Received())
	}
	if s := health(t, g, broken.URL()); s != lb.Ejected {
		t.Errorf("the broken one is %v", s)
	}
}

// What is the client's fault, or nobody's, says nothing of an instance.
func TestC111ClientErrorsEjectNobody(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", `"health": {"unhealthy_threshold": 1, "cooldown": "1h", "fail_open": false}, "retry": {"max_attempts": 1}`, e.URL()))
	for _, status := range []int{400, 401, 403, 404, 408, 409, 413, 422, 429, 499, 500, 501, 529} {
		e.Set(sim.Behaviour{Status: status})
		for range 5 {
			for _, body := range []string{chatBody, streamBody} {
				if a := g.Post(chat, body); a.Status != status {
					t.Fatalf("%d became %d %s", status, a.Status, a.Body)
				}
			}
		}
	}
	// Clients that leave, before the answer and within it.
	for _, b := range []sim.Behaviour{{Fault: sim.Fault{Kind: sim.Silent}}, {Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 1}}} {
		e.Set(b)
		for range 5 {
			before := e.Received()
			c, _ := send(t, g, post(chat, streamBody))
			e.WaitRequests(before + 1)
			c.Close()
			g.Idle()
		}
	}
	// A stream that breaks off may be the fault of whoever: it was served so far.
	e.Set(sim.Behaviour{Tokens: 10, Fault: sim.Fault{Kind: sim.ResetAfterEvents, After: 3}})
	for range 5 {
		if a := g.Post(chat, streamBody); a.Status != 200 || a.Err == nil {
			t.Errorf("%d %v", a.Status, a.Err)
		}
	}
	// What the gateway refuses has not been near it.
	for range 5 {
		g.Post(chat, `{"model": "m"`)
	}
	if s := health(t, g, e.URL()); s != lb.Up {
		t.Errorf("the instance is %v", s)
	}
	e.Set(sim.Behaviour{})
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}

// And what is an instance's fault ejects it, on whatever path.
func TestC111WhatEjects(t *testing.T) {
	for name, b := range map[string]sim.Behaviour{
		"502": {Status: 502}, "503": {Status: 503}, "504": {Status: 504}, "refused": {Fault: sim.Fault{Kind: sim.Refuse}},
		"reset": {Fault: sim.Fault{Kind: sim.ResetBeforeHead}}, "closed": {Fault: sim.Fault{Kind: sim.CloseBeforeHead}},
		"silent": {Fault: sim.Fault{Kind: sim.Silent}}, "short": {Fault: sim.Fault{Kind: sim.ShortBody, After: 5}},
	} {
		e, well := engine(t, b), engine(t, sim.Behaviour{})
		g := gatewaytest.Start(t, open("", `"health": {"unhealthy_threshold": 2, "cooldown": "1h"}, "timeouts": {"first_byte": "150ms"},
			"retry": {"status_codes": ["502", "503", "504"]}`, e.URL(), well.URL()))
		for range 8 {
			if a := g.Post(chat, chatBody); a.Status != 200 {
				t.Errorf("%s: %d %s", name, a.Status, a.Body)
			}
		}
		if s := health(t, g, e.URL()); s != lb.Ejected {
			t.Errorf("%s: the instance is %v", name, s)
		}
		if n := e.Received(); n > 2 {
			t.Errorf("%s: the instance was asked %d times", name, n)
		}
		if n := strings.Count(g.Log(), "an instance is ejected"); n != 1 {
			t.Errorf("%s: the log tells of %d ejections", name, n)
		}
	}
}

// All instances restart at once. While they refuse, a client is told when to come back; as soon as one serves, all is
// well, without waiting for a cool-down.
func TestC112AllAreOut(t *testing.T) {
	engines := cluster(t, 3)
	g := gatewaytest.Start(t, balanced(engines, 3, `"health": {"cooldown": "1h"}`))
	refuse := sim.Behaviour{Fault: sim.Fault{Kind: sim.Refuse}}
	for _, e := range engines {
		e.Hook(nil)
		e.Set(refuse)
	}
	for range 6 {
		a := g.Post(chat, chatBody)
		if a.Status != 503 || a.Header.Get("Retry-After") == "" || a.Error("code") != "upstream_unreachable" {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
	}
	for _, e := range engines {
		if s := health(t, g, e.URL()); s != lb.Ejected {
			t.Errorf("an instance that refuses is %v", s)
		}
		e.Set(sim.Behaviour{})
	}
	for range 3 {
		if a := g.Post(chat, chatBody); a.Status != 200 {
			t.Errorf("after the restart: %d %s", a.Status, a.Body)
		}
	}
	served := 0
	for _, e := range engines {
		if health(t, g, e.URL()) == lb.Up {
			served++
		}
	}
	if served == 0 {
		t.Error("nobody is up")
	}
}

// A route that does not fail open asks its fallback, and without one tells how long the cool-down lasts; nobody who is
// out is asked meanwhile.
func TestC112FailingClosed(t *testing.T) {
	main, well := engine(t, sim.Behaviour{Status: 503}), engine(t, sim.Behaviour{})
	const closed = `"health": {"fail_open": false, "cooldown": "1h", "unhealthy_threshold": 2}, "retry": {"max_attempts": 1}`
	g := gatewaytest.Start(t, guarded(closed, []string{main.URL()}))
	for range 2 {
		g.Post(chat, chatBody)
	}
	for range 3 {
		a := g.Post(chat, chatBody)
		after := 0
		_, _ = fmt.Sscan(a.Header.Get("Retry-After"), &after) // 0 fails
		if a.Status != 503 || a.Error("code") != "no_instance" || after < 3000 || after > 3600 {
			t.Errorf("%d %v %s", a.Status, a.Header, a.Body)
		}
	}
	g.Reload(guarded(closed, []string{main.URL()}, [2]string{well.URL(), `"429"`})) // health outlives it
	for range 3 {
		if a := g.Post(chat, chatBody); a.Status != 200 {
			t.Errorf("with a fallback: %d %s", a.Status, a.Body)
		}
	}
	if n := main.Received(); n != 2 {
		t.Errorf("the instance was asked %d times", n)
	}
	g.Reload(guarded(strings.Replace(closed, "false", "true", 1), []string{main.URL()}))
	main.Set(sim.Behaviour{})
	if a := g.Post(chat, chatBody); a.Status != 200 || health(t, g, main.URL()) != lb.Up {
		t.Errorf("failing open again: %d %s", a.Status, a.Body)
	}
}

func TestC114BlipsAndRowsOfFailures(t *testing.T) {
	flaky, well := engine(t, sim.Behaviour{}), engine(t, sim.Behaviour{})
	const route = `"health": {"cooldown": "400ms", "ramp": "1h"}, "retry": {"max_attempts": 1}`
	g := gatewaytest.Start(t, open("", route, flaky.URL(), well.URL()))
	alone := func(status int) { // requests go to each in turn: two reach both
		flaky.Set(sim.Behaviour{Status: status})
		before := flaky.Received()
		for flaky.Received() == before {
			g.Post(chat, chatBody)
		}
		flaky.Set(sim.Behaviour{})
	}
	for range 5 {
		for range 19 {
			alone(200)
		}
		alone(503)
		if s := health(t, g, flaky.URL()); s != lb.Up {
			t.Fatalf("after a blip it is %v", s)
		}
	}
	alone(200)
	alone(503)
	alone(503)
	if s := health(t, g, flaky.URL()); s != lb.Up {
		t.Fatalf("after two failures in a row it is %v", s)
	}
	alone(503)
	if s := health(t, g, flaky.URL()); s != lb.Ejected {
		t.Fatalf("after three failures in a row it is %v", s)
	}
	g.Eventually("the cool-down is over", func() bool { return health(t, g, flaky.URL()) == lb.Probation })

	// One request at a time proves it; the others go elsewhere.
	silent := sim.Behaviour{Fault: sim.Fault{Kind: sim.SilentAfterEvents, After: 1}}
	flaky.Set(silent)
	well.Set(silent)
	var release []func()
	for range 6 {
		c := hold(t, g, "m")
		release = append(release, func() { c.Close() })
	}
	if n := flaky.Inflight(); n != 1 || well.Inflight() != 5 {
		t.Errorf("%d requests prove it, %d are elsewhere", n, well.Inflight())
	}
	for _, f := range release {
		f()
	}
	g.Idle()
	well.Set(sim.Behaviour{})
	if s := health(t, g, flaky.URL()); s != lb.Probation {
		t.Errorf("clients that leave have made it %v", s)
	}

	alone(503) // on probation one failure is enough
	if s := health(t, g, flaky.URL()); s != lb.Ejected {
		t.Errorf("after a failure on probation it is %v", s)
	}
	g.Eventually("the cool-down is over", func() bool { return health(t, g, flaky.URL()) == lb.Probation })
	alone(200)
	if s := health(t, g, flaky.URL()); s != lb.Up {
		t.Errorf("after a success on probation it is %v", s)
	}
	alone(503)
	if s := health(t, g, flaky.URL()); s != lb.Up {
		t.Errorf("back in, one failure makes it %v", s)
	}
}
