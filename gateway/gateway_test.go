package gateway_test

import (
	"bufio"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

func TestMain(m *testing.M) {
	if os.Getenv(loadEnv) != "" {
		os.Exit(runLoad(os.Stdin, os.Stdout))
	}
	goleak.VerifyTestMain(m,
		// The HTTP server's own, one in the process, and one that looks for its end every few seconds.
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.updateServerDate.func1"),
		goleak.IgnoreAnyFunction("github.com/valyala/fasthttp.(*workerPool).Start.func2"),
	)
}

// engine starts a simulated engine for the length of a test.
func engine(t testing.TB, b sim.Behaviour) *sim.Engine {
	t.Helper()
	e, err := sim.Start("127.0.0.1:0", sim.Options{Behaviour: b})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// open is a public route "m" over the instances at some URLs, with further members of the file and of the route.
func open(file, route string, urls ...string) string {
	var instances []string
	for i, url := range urls {
		instances = append(instances, fmt.Sprintf(`{"name": "m-%d", "url": %q}`, i+1, url))
	}
	if file != "" {
		file = ", " + file
	}
	if route != "" {
		route = ", " + route
	}
	return fmt.Sprintf(`{"models": [{"name": "m", "served_model_name": "served", "instances": [%s]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}]%s}]%s}`, strings.Join(instances, ", "), route, file)
}

const (
	chat       = "/v1/chat/completions"
	chatBody   = `{"model": "m", "messages": [{"role": "user", "content": "Say hello."}]}`
	streamBody = `{"model": "m", "stream": true, "messages": [{"role": "user", "content": "Say hello."}]}`
)

// upstream is a server that does with each of its connections what a test says; n counts them from 0.
func upstream(t testing.TB, serve func(n int, c *net.TCPConn)) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for n := 0; ; n++ {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				serve(n, c.(*net.TCPConn))
			}()
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return "http://" + ln.Addr().String()
}

// read reads one request with its body, nil if the connection has ended.
func read(r *bufio.Reader) *http.Request {
	req, err := http.ReadRequest(r)
	if err != nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return nil
	}
	req.Body = io.NopCloser(strings.NewReader(string(body)))
	return req
}

// answering is an upstream that answers every request with the same bytes.
func answering(t testing.TB, answer string) string {
	return upstream(t, func(_ int, c *net.TCPConn) {
		for r := bufio.NewReader(c); read(r) != nil; {
			if _, err := io.WriteString(c, answer); err != nil {
				return
			}
		}
	})
}

// whole is an answer of known length.
func whole(head, body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\n%sContent-Length: %d\r\n\r\n%s", head, len(body), body)
}

// chunked is an answer in chunks, one a piece.
func chunked(head string, pieces ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "HTTP/1.1 200 OK\r\n%sTransfer-Encoding: chunked\r\n\r\n", head)
	for _, p := range pieces {
		fmt.Fprintf(&b, "%x\r\n%s\r\n", len(p), p)
	}
	b.WriteString("0\r\n\r\n")
	return b.String()
}

// send writes a raw request and returns the connection to read its answer from.
func send(t testing.TB, g *gatewaytest.Gateway, request string) (net.Conn, *bufio.Reader) {
	t.Helper()
	c := g.Dial()
	if err := c.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, request); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// post is a raw POST with a JSON body.
func post(path, body string, headers ...string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST %s HTTP/1.1\r\nHost: gateway\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", path, len(body))
	for _, h := range headers {
		b.WriteString(h + "\r\n")
	}
	return b.String() + "\r\n" + body
}

func TestChat(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()))
	for _, path := range []string{"/v1/chat/completions", "/v1-openai/chat/completions", "/chat/completions"} {
		a := g.Post(path, chatBody)
		if a.Status != 200 || !strings.Contains(a.Body, `"chat.completion"`) {
			t.Fatalf("%s: %d %s", path, a.Status, a.Body)
		}
	}
	for _, r := range e.Requests() {
		if r.Path() != "/v1/chat/completions" || r.Model != "served" {
			t.Errorf("the engine was asked %s for %s", r.Path(), r.Model)
		}
	}
	a := g.Post(chat, streamBody)
	if a.Status != 200 || !strings.HasSuffix(a.Body, "data: [DONE]\n\n") || a.Err != nil {
		t.Errorf("%d %q %v", a.Status, a.Body, a.Err)
	}
	lines := g.WaitRequests(4)
	if l := lines[3]; l["outcome"] != "ok" || l["route"] != "m" || l["instance"] != "m-1" || l["stream"] != true || l["status"] != 200.0 {
		t.Errorf("access log: %v", l)
	}
}

// sum is the digest of a key, as the routes file has it.
func sum(key string) [sha256.Size]byte { return sha256.Sum256([]byte(key)) }
