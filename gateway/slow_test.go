package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// drip writes a text byte by byte, and its last byte again and again, until the connection is closed.
func drip(c net.Conn, text string, pause time.Duration) {
	for i := 0; ; i++ {
		if _, err := c.Write([]byte{text[min(i, len(text)-1)]}); err != nil {
			return
		}
		time.Sleep(pause)
	}
}

// Times are scaled down by a hundred: a request has 0.3 s to arrive, and more as it earns it by its bytes.
func TestC125SlowRequests(t *testing.T) {
	t.Run("plain", func(t *testing.T) { slowRequests(t) })
	t.Run("TLS", func(t *testing.T) { slowRequests(t, gatewaytest.TLS()) })
}

func slowRequests(t *testing.T, options ...gatewaytest.Option) {
	t.Helper()
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()),
		append(options, gatewaytest.Limits(gateway.Limits{Request: 300 * time.Millisecond, MinRate: 64 << 10}))...)
	const head = "POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\n"
	for name, c := range map[string]struct{ sent, dripped string }{
		"head":            {"", head + "X-Slow: " + "x"},
		"request line":    {"", "POST /v1/chat/" + "x"},
		"header lines":    {head, "X: y\r\nX: y\r\nX: y\r\nX: y\r\nX: y\r\nX: y\r\nX: y\r\nX: y\r\nX"},
		"body":            {head + "Content-Length: 1000000\r\n\r\n", `{"model": "m", "x": "xx`},
		"chunks":          {head + "Transfer-Encoding: chunked\r\n\r\n", "1\r\n{\r\n1\r\n\"\r\n1\r\nx\r\n1\r\nx\r\n100\r\nx"},
		"chunk size":      {head + "Transfer-Encoding: chunked\r\n\r\n", "00000000"},
		"chunk extension": {head + "Transfer-Encoding: chunked\r\n\r\n", "1;x"},
		"trailers":        {head + "Transfer-Encoding: chunked\r\n\r\n0\r\n", "X-Slow: x"},
		"bare LF":         {"POST /v1/chat/completions HTTP/1.1\nHost: g\n", "X: y\nx"},
	} {
		conn, r := send(t, g, c.sent)
		_ = conn.SetDeadline(time.Now().Add(patience))
		dripped := make(chan struct{})
		go func() {
			defer close(dripped)
			drip(conn, c.dripped, 10*time.Millisecond)
		}()
		a := answerTo(t, r, "POST")
		if a.Status != 408 && a.Status != 400 {
			t.Errorf("%s: %d %s %v", name, a.Status, a.Body, a.Err)
		} else {
			readError(t, chat, a)
		}
		conn.Close()
		<-dripped
	}
	if n := e.Received(); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// An upload that goes on steadily takes as long as it takes: here several times what a request has.
func TestC125ASlowUploadIsServed(t *testing.T) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open("", "", e.URL()), gatewaytest.Limits(gateway.Limits{Request: 300 * time.Millisecond, MinRate: 16 << 10}))
	body := fmt.Sprintf(`{"model": "m", "messages": [{"role": "user", "content": %q}]}`, strings.Repeat("x", 1<<20))
	for _, framing := range []string{fmt.Sprintf("Content-Length: %d", len(body)), "Transfer-Encoding: chunked"} {
		conn, r := send(t, g, "POST /v1/chat/completions HTTP/1.1\r\nHost: g\r\nContent-Type: application/json\r\n"+framing+"\r\n\r\n")
		_ = conn.SetDeadline(time.Now().Add(patience))
		for rest := body; rest != ""; {
			piece := rest[:min(len(rest), 16<<10)] // each earns it a second
			rest = rest[len(piece):]
			if framing[0] == 'T' {
				piece = chunk(piece)
			}
			if _, err := io.WriteString(conn, piece); err != nil {
				t.Fatal(err)
			}
			time.Sleep(15 * time.Millisecond)
		}
		if framing[0] == 'T' {
			_, _ = io.WriteString(conn, lastChunk) // the answer tells
		}
		if a := answerTo(t, r, "POST"); a.Status != 200 {
			t.Errorf("%s: %d %s %v", framing, a.Status, a.Body, a.Err)
		}
		conn.Close()
	}
	for _, q := range e.Requests() {
		if len(q.Body) != len(body)+len("served")-len("m") {
			t.Errorf("the engine got %d bytes of %d", len(q.Body), len(body))
		}
	}
}

// Connections on which nothing comes are closed: new ones after the time that a request has, others after their rest.
func TestC125SilentConnections(t *testing.T) {
	t.Run("plain", func(t *testing.T) { silentConnections(t) })
	t.Run("TLS", func(t *testing.T) { silentConnections(t, gatewaytest.TLS()) })
}

func silentConnections(t *testing.T, options ...gatewaytest.Option) {
	t.Helper()
	g := gatewaytest.Start(t, open("", "", engine(t, sim.Behaviour{}).URL()),
		append(options, gatewaytest.Limits(gateway.Limits{Request: 300 * time.Millisecond, Idle: 200 * time.Millisecond}))...)
	raw, err := net.Dial("tcp", g.Addr) // over TLS not even the handshake begins
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	used, r := send(t, g, post(chat, chatBody))
	for _, c := range []net.Conn{raw, used} {
		_ = c.SetDeadline(time.Now().Add(patience))
	}
	if a := answerTo(t, r, "POST"); a.Status != 200 {
		t.Fatalf("%d %s %v", a.Status, a.Body, a.Err)
	}
	if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
		t.Errorf("a connection at rest ends with %q %v", rest, err)
	}
	if rest, err := io.ReadAll(raw); err != nil || len(rest) > 0 && !strings.HasPrefix(string(rest), "HTTP/1.1 408 ") {
		t.Errorf("a connection that was never used ends with %q %v", rest, err)
	}
	g.Eventually("no connection is left", func() bool { return g.Clients() == 0 })
}

// A client that does not read is let go after the limit on one write, and with it its place.
func TestClientsThatDoNotRead(t *testing.T) {
	given := make(chan error, 1)
	up := upstream(t, func(_ int, c *net.TCPConn) {
		if read(bufio.NewReader(c)) == nil {
			return
		}
		_, err := io.WriteString(c, streamHead)
		for piece := chunk(events(strings.Repeat("x", 64<<10))); err == nil; {
			_, err = io.WriteString(c, piece)
		}
		given <- err
	})
	g := gatewaytest.Start(t, open("", `"timeouts": {"client_stall": "300ms"}`, up))
	c, _ := send(t, g, post(chat, streamBody))
	select {
	case <-given:
	case <-time.After(patience):
		t.Fatal("the upstream's answer goes on")
	}
	if l := g.WaitRequests(1)[0]; l["outcome"] != "client_closed" {
		t.Errorf("access log: %v", l)
	}
	g.Idle()
	c.Close()
}

// One that reads slowly but steadily does not meet that limit, and neither does one of a route that has turned it off.
func TestClientsThatReadSlowly(t *testing.T) {
	const size = 24 << 20 // more than the sockets on the way take
	body := whole("Content-Type: application/octet-stream\r\n", strings.Repeat("x", size))
	up := answering(t, body)
	for stall, pause := range map[string]time.Duration{"1s": 20 * time.Millisecond, "0s": 0} {
		g := gatewaytest.Start(t, open("", fmt.Sprintf(`"timeouts": {"client_stall": %q}`, stall), up),
			gatewaytest.Limits(gateway.Limits{Stall: 200 * time.Millisecond}))
		c, r := send(t, g, post("/v1/audio/speech", chatBody))
		_ = c.SetDeadline(time.Now().Add(patience))
		if stall == "0s" {
			time.Sleep(600 * time.Millisecond) // three times the limit that the gateway has for itself
		}
		resp := answer(t, r)
		n, buf := 0, make([]byte, 512<<10)
		for {
			m, err := io.ReadFull(resp.Body, buf)
			n += m
			if err != nil {
				break
			}
			time.Sleep(pause)
		}
		if n != size {
			t.Errorf("with a limit of %s the answer ends after %d bytes", stall, n)
		}
		c.Close()
	}
}
