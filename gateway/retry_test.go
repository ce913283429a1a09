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
)

// Connections that the upstream closed while they were idle cost nothing: neither an error nor an attempt.
func TestC027StaleConnections(t *testing.T) {
	for name, b := range map[string]sim.Behaviour{
		"closed when idle":              {CloseIdleAfter: 5 * time.Millisecond},
		"closed after each answer":      {CloseAfterRequests: 1},
		"closed after two answers":      {CloseAfterRequests: 2},
		"closed when used again":        {Fault: sim.Fault{Kind: sim.CloseReused}},
		"reset when used again":         {Fault: sim.Fault{Kind: sim.ResetReused}},
		"closed with Connection: close": {ExtraHeader: []sim.Field{{Name: "Connection", Value: "close"}}},
	} {
		e := engine(t, b)
		g := gatewaytest.Start(t, open("", `"retry": {"max_attempts": 1}`, e.URL()))
		for i := range 20 {
			body := chatBody
			if i%2 == 1 {
				body = streamBody
			}
			if a := g.Post(chat, body); a.Status != 200 || a.Err != nil {
				t.Errorf("%s: request %d: %d %s %v", name, i, a.Status, a.Body, a.Err)
			}
			if b.CloseIdleAfter > 0 {
				g.Eventually("the idle connection is closed", func() bool { return e.Open() == 0 })
			}
		}
		for _, l := range g.WaitRequests(20) {
			if l["attempts"] != 1.0 || l["outcome"] != "ok" {
				t.Errorf("%s: access log: %v", name, l)
			}
		}
	}
}

// A request is sent again only if no byte of an answer came, and only once.
func TestC027NothingIsDoneTwice(t *testing.T) {
	for name, c := range map[string]struct {
		second, third string
		status, asked int
	}{
		"a byte came":          {"H", whole("", "{}"), 502, 2},
		"the head came":        {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", whole("", "{}"), 502, 2},
		"nothing came, twice":  {"", "", 502, 3},
		"nothing came, once":   {"", whole("", "{}"), 200, 3},
		"an interim head came": {"HTTP/1.1 102 Processing\r\n\r\n", whole("", "{}"), 502, 2},
	} {
		asked := make(chan int, 10) // the number of the connection
		up := upstream(t, func(n int, conn *net.TCPConn) {
			r := bufio.NewReader(conn)
			for i := 0; read(r) != nil; i++ {
				asked <- n
				switch {
				case n == 0 && i == 0:
					_, _ = io.WriteString(conn, whole("", "{}"))
					continue
				case n == 0:
					_, _ = io.WriteString(conn, c.second)
				default:
					_, _ = io.WriteString(conn, c.third)
				}
				if n > 0 && c.third != "" {
					continue
				}
				return
			}
		})
		g := gatewaytest.Start(t, open("", `"retry": {"max_attempts": 1}`, up))
		if a := g.Post(chat, chatBody); a.Status != 200 {
			t.Fatalf("%d %s", a.Status, a.Body)
		}
		if a := g.Post(chat, chatBody); a.Status != c.status {
			t.Errorf("%s: %d %s", name, a.Status, a.Body)
		}
		if n := len(asked); n != c.asked {
			t.Errorf("%s: the upstream was asked %d times", name, n)
		}
	}
}

// The body that a second instance gets is the whole body.
func TestC029TheBodyIsSentWhole(t *testing.T) {
	broken := engine(t, sim.Behaviour{Fault: sim.Fault{Kind: sim.ResetRequest, After: 150_000}})
	well := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", `"health": {"unhealthy_threshold": 1000}`, broken.URL(), well.URL()))
	content := strings.Repeat("0123456789", 30_000)
	sent := fmt.Sprintf(`{"messages": [{"role": "user", "content": %q}], "model": "m", "x": 9007199254740993}`, content)
	want := strings.Replace(sent, `"m"`, `"served"`, 1)
	for range 8 { // half of them begin at the broken one
		if a := g.Post(chat, sent); a.Status != 200 {
			t.Errorf("%d %s", a.Status, a.Body)
		}
	}
	for _, q := range well.Requests() {
		if string(q.Body) != want || q.Get("Content-Length") != fmt.Sprint(len(want)) || len(q.Values("Content-Length")) != 1 {
			t.Errorf("the second instance got %d bytes of %d", len(q.Body), len(want))
		}
	}
	attempts := 0.0
	for _, l := range g.WaitRequests(8) {
		attempts += l["attempts"].(float64)
	}
	if well.Received() != 8 || attempts <= 8 {
		t.Errorf("%d requests were served in %v attempts", well.Received(), attempts)
	}
}

// The attempts of a request are bounded over all targets, and so is the time in which one may begin.
func TestC032AttemptsAreBounded(t *testing.T) {
	engines := make([]*sim.Engine, 5)
	urls := make([]string, 5)
	for i := range engines {
		engines[i] = engine(t, sim.Behaviour{Status: 503, Body: fmt.Sprintf("engine %d", i), HeadDelay: 150 * time.Millisecond})
		urls[i] = engines[i].URL()
	}
	for _, c := range []struct {
		retry    string
		main     int // attempts at instances
		fallback int // attempts at fallback targets, from the first
	}{
		{`{"max_attempts": 3}`, 2, 1}, {`{"max_attempts": 1}`, 1, 0}, {`{"max_attempts": 2}`, 1, 1}, {`{"max_attempts": 10}`, 3, 2},
		{`{"max_attempts": 4, "deadline": "0s"}`, 3, 1}, {`{"max_attempts": 10, "deadline": "100ms"}`, 1, 0}, {`{"max_attempts": 10, "status_codes": ["502"]}`, 1, 2},
	} {
		before := make([]int, 5)
		for i, e := range engines {
			before[i] = e.Received()
		}
		g := gatewaytest.Start(t, guarded(`"retry": `+c.retry, urls[:3], [2]string{urls[3], `"5xx"`}, [2]string{urls[4], `"5xx"`}))
		a := g.Post(chat, chatBody)
		main, fallback := 0, 0
		for i, e := range engines {
			n := e.Received() - before[i]
			if n > 1 {
				t.Errorf("%s: engine %d was asked %d times", c.retry, i, n)
			}
			if i < 3 {
				main += n
			} else {
				fallback += n
			}
		}
		if main != c.main || fallback != c.fallback {
			t.Errorf("%s: %d instances and %d fallback targets were asked", c.retry, main, fallback)
		}
		if a.Status != 503 || !strings.HasPrefix(a.Body, "engine ") || fallback > 0 && a.Body != fmt.Sprintf("engine %d", 2+fallback) {
			t.Errorf("%s: %d %s", c.retry, a.Status, a.Body)
		}
		if l := g.WaitRequests(1)[0]; l["attempts"] != float64(c.main+c.fallback) || l["status"] != 503.0 || l["outcome"] != "upstream_error" {
			t.Errorf("%s: access log: %v", c.retry, l)
		}
	}
}

// Nobody waits out a Retry-After: whoever else can serve is asked at once.
func TestC032RetryAfterIsNotSleptThrough(t *testing.T) {
	well := engine(t, sim.Behaviour{})
	busy := engine(t, sim.Behaviour{Status: 503, Header: []sim.Field{{Name: "Retry-After", Value: "3600"}}})
	g := gatewaytest.Start(t, guarded("", []string{busy.URL()}, [2]string{well.URL(), `"5xx"`}))
	if a := g.Post(chat, chatBody); a.Status != 200 {
		t.Errorf("%d %s", a.Status, a.Body)
	}
}
