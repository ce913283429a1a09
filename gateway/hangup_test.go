package gateway_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/plugins/decisionservice"
)

// departures are the ways in which a client leaves. To shut down the sending side counts as leaving: from the gateway's
// side it can't be told from a close until something has been written, and no client of these APIs does it otherwise.
var departures = []struct {
	name  string
	tls   bool
	leave func(c net.Conn)
}{
	{"close", false, func(c net.Conn) { c.Close() }},
	{"reset", false, func(c net.Conn) { reset(c) }},
	{"shut down sending", false, func(c net.Conn) { c.(*net.TCPConn).CloseWrite() }},
	{"close of TLS", true, func(c net.Conn) { c.Close() }},
	{"close below TLS", true, func(c net.Conn) { c.(*tls.Conn).NetConn().Close() }},
	{"reset below TLS", true, func(c net.Conn) { reset(c.(*tls.Conn).NetConn()) }},
}

func reset(c net.Conn) {
	_ = c.(*net.TCPConn).SetLinger(0)
	c.Close()
}

// moments are what the upstream has said when the client leaves; what of it has reached the client is checked first.
var moments = []struct {
	name   string
	body   string
	status float64 // of the log
	until  func(t *testing.T, q *call, r *bufio.Reader)
}{
	{"stream, before the head", streamBody, 499, func(*testing.T, *call, *bufio.Reader) {}},
	{"no stream, before the head", chatBody, 499, func(*testing.T, *call, *bufio.Reader) {}},
	{"stream, inside the head", streamBody, 499, func(_ *testing.T, q *call, _ *bufio.Reader) { q.say(okHead + sse) }},
	{"stream, before the first event", streamBody, 200, func(t *testing.T, q *call, r *bufio.Reader) {
		q.say(streamHead)
		answer(t, r)
	}},
	{"no stream, inside a body that is held", chatBody, 499, func(_ *testing.T, q *call, _ *bufio.Reader) {
		q.say(okHead + "Content-Length: 1000\r\n\r\nsome")
	}},
	{"no stream, inside a body of unknown length", chatBody, 499, func(_ *testing.T, q *call, _ *bufio.Reader) {
		q.say(okHead + inChunks + "\r\n" + chunk("some"))
	}},
	{"no stream, inside a body that is passed on", chatBody, 200, func(t *testing.T, q *call, r *bufio.Reader) {
		q.say(okHead + "Content-Length: 2000000\r\n\r\nsome")
		expect(t, answer(t, r).Body, "some")
	}},
	{"stream, silent after an event", streamBody, 200, func(t *testing.T, q *call, r *bufio.Reader) {
		q.say(streamHead + chunk(events("1")))
		expect(t, answer(t, r).Body, events("1"))
	}},
	{"inside an answer that would be retried", chatBody, 499, func(_ *testing.T, q *call, _ *bufio.Reader) {
		q.say("HTTP/1.1 503 Busy\r\nContent-Length: 1000\r\n\r\nsome")
	}},
}

// spare is a route whose every instance and fallback is the same upstream: whoever is asked after the client has left,
// it is seen.
func spare(url string) string {
	return fmt.Sprintf(`{"models": [{"name": "m", "instances": [{"name": "m-1", "url": "%[1]s/1"}, {"name": "m-2", "url": "%[1]s/2"}]},
			{"name": "f", "instances": [{"name": "f-1", "url": "%[1]s/3"}]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}, {"model": "f", "fallback_status_codes": ["4xx", "5xx"]}]}]}`, url)
}

// A client that leaves ends the round trip that is on for it, whatever its state, without another byte of the upstream,
// and nobody else is asked.
func TestC013C014ClientLeaves(t *testing.T) {
	for _, d := range departures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			up := byHand(t)
			g := gatewaytest.Start(t, spare(up.url), overTLS(d.tls)...)
			for i, m := range moments {
				c, r := send(t, g, post(chat, m.body))
				q := up.next()
				m.until(t, q, r)
				d.leave(c)
				q.abandoned()
				q.end()
				g.Idle()
				l := g.WaitRequests(i + 1)[i]
				if l["outcome"] != "client_closed" || l["status"] != m.status || l["attempts"] != 1.0 {
					t.Errorf("%s: access log: %v", m.name, l)
				}
				if rest, _ := io.ReadAll(r); d.name == "shut down sending" && m.status == 499 { // it may still read
					if a := takeApart(t, string(rest)); !strings.HasPrefix(a.status, "HTTP/1.1 499 ") || a.header.Get("Connection") != "close" {
						t.Errorf("%s: the client that was given up is told %q", m.name, rest)
					}
				}
				c.Close()
			}
			up.none()
		})
	}
}

// What a client has sent behind its request does not hide that it leaves.
func TestC013BytesBehindTheRequest(t *testing.T) {
	for name, behind := range map[string]string{
		"a byte": "P", "a request": post(chat, chatBody), "many requests": strings.Repeat(post(chat, streamBody), 500), "no HTTP": "\x00\xff\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			c, _ := send(t, g, post(chat, chatBody)+behind)
			q := up.next()
			c.Close()
			q.abandoned()
			q.end()
			g.Eventually("the client is off the books", func() bool { return g.Clients() == 0 })
			up.none()
			if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" || l["status"] != 499.0 {
				t.Errorf("access log: %v", l)
			}
		})
	}
}

// A connection is watched through all of its requests.
func TestC013LaterRequest(t *testing.T) {
	for _, d := range departures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url), overTLS(d.tls)...)
			c, r := send(t, g, "")
			for range 3 {
				io.WriteString(c, post(chat, chatBody))
				q := up.next()
				q.say(whole("", "fine"))
				expect(t, answer(t, r).Body, "fine")
				q.end()
			}
			io.WriteString(c, post(chat, chatBody))
			q := up.next()
			d.leave(c)
			q.abandoned()
			q.end()
			g.Idle()
		})
	}
}

// TLS has an end of its own for one direction; the connection below stays whole, and the answer comes.
func TestTLSCloseNotifyIsNotLeaving(t *testing.T) {
	up := byHand(t)
	g := gatewaytest.Start(t, open("", "", up.url), gatewaytest.TLS())
	c, r := send(t, g, post(chat, chatBody))
	q := up.next()
	if err := c.(*tls.Conn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	q.say(whole("", "fine"))
	expect(t, answer(t, r).Body, "fine")
	q.end()
	g.Eventually("the connection is closed after it", func() bool { return g.Clients() == 0 })
}

// The gateway may be anywhere in making a connection.
func TestC013WhileConnecting(t *testing.T) {
	for _, d := range departures {
		t.Run("TLS handshake, "+d.name, func(t *testing.T) {
			t.Parallel()
			hello := make(chan *net.TCPConn)
			url := upstream(t, func(_ int, c *net.TCPConn) {
				c.Read(make([]byte, 1)) // of the client's part of the handshake
				hello <- c
				io.Copy(io.Discard, c) // until the gateway closes it
				hello <- nil
			})
			g := gatewaytest.Start(t, open(`"defaults": {"timeouts": {"connect": "0s"}}`, "", strings.Replace(url, "http:", "https:", 1)), overTLS(d.tls)...)
			c, _ := send(t, g, post(chat, streamBody))
			await(t, hello)
			d.leave(c)
			await(t, hello)
			g.Idle()
			if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" || l["status"] != 499.0 || l["attempts"] != 1.0 {
				t.Errorf("access log: %v", l)
			}
		})
	}
	t.Run("TCP", func(t *testing.T) {
		url := deaf(t)
		g := gatewaytest.Start(t, open(`"defaults": {"timeouts": {"connect": "0s"}}`, "", url))
		c, _ := send(t, g, post(chat, streamBody))
		g.Eventually("the request has got its place", func() bool { return g.Inflight(url) == 1 })
		c.Close()
		g.Idle()
		if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" || l["status"] != 499.0 || l["attempts"] != 1.0 {
			t.Errorf("access log: %v", l)
		}
	})
}

// undecided is a decision service that is asked and does not answer.
type undecided struct{ asked chan struct{} }

func (u undecided) Ask(ctx context.Context, _ decisionservice.Question) ([]byte, error) {
	u.asked <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A client may leave before anybody has been chosen for it.
func TestC013WhileDeciding(t *testing.T) {
	for _, d := range departures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			service := undecided{make(chan struct{})}
			e := engine(t, sim.Behaviour{})
			g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [{"name": "a", "instances": [{"name": "a-1", "url": %[1]q}]},
					{"name": "b", "instances": [{"name": "b-1", "url": %[1]q}]}],
				"providers": [{"name": "d", "type": "systemone", "endpoint": "http://127.0.0.1:1", "api_token": "t", "models": ["x"]}],
				"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "a"}, {"model": "b"}], "policies": {"decision_service":
					{"provider": "d", "model": "x", "criteria": {"a": "Small.", "b": "Large."}, "timeout": "10m"}}}]}`, e.URL()),
				append(overTLS(d.tls), gatewaytest.Kinds(builtin.All(service)...))...)
			c, _ := send(t, g, post(chat, chatBody))
			await(t, service.asked)
			d.leave(c)
			g.Idle()
			if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" || l["status"] != 499.0 || l["attempts"] != 0.0 || e.Received() != 0 {
				t.Errorf("%d requests, access log: %v", e.Received(), l)
			}
		})
	}
}

// deaf is the address of a socket whose backlog is full: a connection to it is neither made nor refused.
func deaf(t *testing.T) string {
	t.Helper()
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Close(fd) })
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	if err := unix.Listen(fd, 0); err != nil {
		t.Fatal(err)
	}
	name, err := unix.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	addr := fmt.Sprintf("127.0.0.1:%d", name.(*unix.SockaddrInet4).Port)
	for { // fill it
		c, err := net.DialTimeout("tcp", addr, 300*time.Millisecond)
		if err != nil {
			return "http://" + addr
		}
		t.Cleanup(func() { c.Close() })
	}
}

// The request may still be on its way up, to an upstream that does not read it.
func TestC013WhileSending(t *testing.T) {
	accepted := make(chan *net.TCPConn)
	url := upstream(t, func(_ int, c *net.TCPConn) {
		_ = c.SetReadBuffer(4 << 10)
		c.Read(make([]byte, 1))
		accepted <- c
		<-t.Context().Done()
	})
	g := gatewaytest.Start(t, open("", "", url))
	c, _ := send(t, g, post(chat, `{"model": "m", "pad": "`+strings.Repeat("x", 32<<20)+`"}`))
	await(t, accepted)
	c.Close()
	g.Idle()
	g.Eventually("the connection to the upstream is closed", func() bool { return g.Upstream.Open() == 0 })
	if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" || l["status"] != 499.0 || l["attempts"] != 1.0 {
		t.Errorf("access log: %v", l)
	}
}

// A client may leave while the gateway waits for it to read.
func TestC015WhileNobodyReads(t *testing.T) {
	for _, d := range departures {
		t.Run(d.name, func(t *testing.T) {
			t.Parallel()
			flood := make(chan error, 1)
			url := upstream(t, func(_ int, c *net.TCPConn) {
				read(bufio.NewReader(c))
				_, err := io.WriteString(c, streamHead)
				for piece := chunk(strings.Repeat("x", 64<<10)); err == nil; {
					_, err = io.WriteString(c, piece)
				}
				flood <- err
			})
			g := gatewaytest.Start(t, open("", "", url), overTLS(d.tls)...)
			c, r := send(t, g, post(chat, streamBody))
			answer(t, r)
			d.leave(c)
			await(t, flood)
			g.Idle()
			if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" {
				t.Errorf("access log: %v", l)
			}
		})
	}
}

// With events flowing, the upstream is let go as well, and nothing goes on running.
func TestC015WhileEventsFlow(t *testing.T) {
	e := engine(t, sim.Behaviour{Tokens: 5000, BetweenTokens: 5 * time.Millisecond})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	before := runtime.NumGoroutine()
	for i := range 10 {
		c, r := send(t, g, post(chat, streamBody))
		expect(t, answer(t, r).Body, "data: ")
		c.Close()
		gatewaytest.Eventually(t, "the engine sees that the client has left", func() bool { return e.Aborted() == i+1 && e.Open() == 0 })
	}
	g.Idle()
	g.Eventually("no goroutine is left", func() bool { return runtime.NumGoroutine() <= before+1 }) // one worker of the server rests
	if n := e.Received(); n != 10 {
		t.Errorf("%d requests for 10", n)
	}
}

// After the client has left, nobody else is asked: not on behalf of an answer that came too late either.
func TestC016NoRetryForNobody(t *testing.T) {
	slow := byHand(t)
	healthy := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, fmt.Sprintf(`{"models": [{"name": "m", "instances": [{"name": "m-1", "url": %q}]},
			{"name": "f", "instances": [{"name": "f-1", "url": %q}]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}, {"model": "f", "fallback_status_codes": ["5xx"]}]}]}`,
		slow.url, healthy.URL()))
	for i := range 20 {
		c, _ := send(t, g, post(chat, chatBody))
		q := slow.next()
		c.Close()
		q.abandoned()
		_, _ = io.WriteString(q, "HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n") // nobody listens
		q.end()
		if l := g.WaitRequests(i + 1)[i]; l["outcome"] != "client_closed" || l["attempts"] != 1.0 {
			t.Fatalf("access log: %v", l)
		}
	}
	if n := healthy.Received(); n != 0 {
		t.Errorf("the fallback was asked %d times for clients that had left", n)
	}
	c, r := send(t, g, post(chat, chatBody)) // one that stays gets it
	q := slow.next()
	q.say("HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n")
	if resp := answer(t, r); resp.StatusCode != 200 || healthy.Received() != 1 {
		t.Errorf("%d after %d requests", resp.StatusCode, healthy.Received())
	}
	q.end()
	c.Close()
}

// Of many streams at once half are given up anywhere; the others get their own events and nobody else's.
func TestC020NoForeignBytes(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	e.Hook(func(q *sim.Request) sim.Behaviour {
		mark := q.Get("X-Mark")
		return sim.Behaviour{Status: 200, Header: []sim.Field{{Name: "Content-Type", Value: "text/event-stream"}},
			Body: strings.Repeat("data: "+mark+"\n\n", 60), BetweenTokens: time.Millisecond}
	})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	const n = 300
	dice := rand.New(rand.NewPCG(1, 2))
	var all sync.WaitGroup
	for i := range n {
		mark := fmt.Sprintf("%d-%s", i, strings.Repeat(string(rune('a'+i%26)), 20))
		want := strings.Repeat("data: "+mark+"\n\n", 60)
		leave := len(want)
		if i%2 == 1 {
			leave = dice.IntN(len(want))
		}
		all.Go(func() {
			c, r := send(t, g, post(chat, streamBody, "X-Mark: "+mark))
			defer c.Close()
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			got := make([]byte, leave)
			if m, err := io.ReadFull(resp.Body, got); err != nil || string(got) != want[:leave] {
				t.Errorf("stream %d: %v after %d bytes: %.100q", i, err, m, got)
			}
		})
	}
	all.Wait()
	g.Idle()
	outcomes := map[any]int{}
	for _, l := range g.WaitRequests(n) {
		outcomes[l["outcome"]]++
	}
	if outcomes["ok"]+outcomes["client_closed"] != n || outcomes["ok"] < n/2 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

// The client vanishes just when the answer begins: between the upstream's head and the gateway's own.
func TestC022VanishingAtTheHead(t *testing.T) {
	up := byHand(t)
	g := gatewaytest.Start(t, strings.Replace(open("", "", up.url), `"url":`, `"max_inflight": 1, "url":`, 1))
	for i := range 600 {
		c, _ := send(t, g, post(chat, streamBody))
		q := up.next()
		head := streamHead
		if i%4 == 1 {
			head += chunk(events("1"))
		}
		if i%2 == 0 {
			go c.Close()
			_, _ = io.WriteString(q, head) // whether it arrives is the point
		} else {
			q.say(head)
			c.Close()
		}
		q.abandoned()
		q.end()
		g.Eventually("the place is free again", func() bool { return g.Inflight(up.url) == 0 })
	}
	_, r := send(t, g, post(chat, chatBody))
	q := up.next()
	q.say(whole("", "fine"))
	expect(t, answer(t, r).Body, "fine")
	q.end()
	outcomes := map[any]int{}
	for _, l := range g.WaitRequests(601) {
		outcomes[l["outcome"]]++
	}
	if outcomes["client_closed"] != 600 || outcomes["ok"] != 1 {
		t.Errorf("outcomes: %v", outcomes)
	}
}

// What an upstream sends without being asked is nobody's answer: neither behind an answer, nor later.
func TestC020UnsolicitedBytes(t *testing.T) {
	foreign := whole("", "foreign")
	for name, later := range map[string]bool{"behind the answer": false, "while the connection rests": true} {
		t.Run(name, func(t *testing.T) {
			up := byHand(t)
			g := gatewaytest.Start(t, open("", "", up.url))
			for range 5 {
				a, b := send(t, g, post(chat, chatBody))
				q := up.next()
				if later {
					q.say(whole("", "mine"))
					expect(t, answer(t, b).Body, "mine")
					g.Idle()
					q.say(foreign)
				} else {
					q.say(whole("", "mine") + foreign)
					expect(t, answer(t, b).Body, "mine")
					g.Idle()
				}
				q.end()
				a.Close()
			}
			a := g.Dial()
			go io.WriteString(a, post(chat, chatBody))
			q := up.next()
			q.say(whole("", "mine too"))
			expect(t, answer(t, bufio.NewReader(a)).Body, "mine too")
			q.end()
		})
	}
}
