package gateway_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
	"github.com/gpustack/gpustack-gateway/internal/sim"
)

func TestC100ErrorsOfTheHTTPLayer(t *testing.T) {
	t.Run("plain", func(t *testing.T) { errorsOfTheHTTPLayer(t) })
	t.Run("TLS", func(t *testing.T) { errorsOfTheHTTPLayer(t, gatewaytest.TLS()) })
}

func errorsOfTheHTTPLayer(t *testing.T, options ...gatewaytest.Option) {
	e := engine(t, sim.Behaviour{})
	g := gatewaytest.Start(t, open(`"defaults": {"max_body_bytes": 1000}`, "", e.URL()),
		append(options, gatewaytest.Limits(gateway.Limits{Request: 400 * time.Millisecond, MinRate: 1 << 20, Head: 4096}))...)
	long := strings.Repeat("x", 5000)
	for _, path := range []string{"/v1/chat/completions", "/v1/messages"} {
		for _, c := range []struct {
			name, raw string
			status    int
			code      string
		}{
			{"no version", "POST " + path + "\r\nHost: g\r\n\r\n", 400, "malformed_request"},
			{"strange version", "POST " + path + " HTTX/1.1\r\nHost: g\r\n\r\n", 400, "malformed_request"},
			{"no host", "POST " + path + " HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 400, "malformed_request"},
			{"header without a colon", "POST " + path + " HTTP/1.1\r\nHost: g\r\nnothing\r\n\r\n", 400, "malformed_request"},
			{"length that is none", "POST " + path + " HTTP/1.1\r\nHost: g\r\nContent-Length: ten\r\n\r\n", 400, "malformed_request"},
			{"chunk that is none", "POST " + path + " HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n", 400, "malformed_request"},
			{"large head", "POST " + path + " HTTP/1.1\r\nHost: g\r\nX-Large: " + long + "\r\n\r\n", 431, "headers_too_large"},
			{"long path", "POST " + path + "?" + long + " HTTP/1.1\r\nHost: g\r\n\r\n", 431, "headers_too_large"},
			{"large body", post(path, long), 413, "request_too_large"},
			{"large body announced", "POST " + path + " HTTP/1.1\r\nHost: g\r\nContent-Length: 1001\r\n\r\n", 413, "request_too_large"},
			{"very large body announced", "POST " + path + " HTTP/1.1\r\nHost: g\r\nContent-Length: 99999999999\r\n\r\n", 413, "request_too_large"},
			{"large body in chunks", "POST " + path + " HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n1388\r\n" + long + "\r\n0\r\n\r\n", 413, "request_too_large"},
			{"head that does not come", "POST " + path + " HTTP/1.1\r\nHost: g\r\n", 408, "request_timeout"},
			{"body that does not come", "POST " + path + " HTTP/1.1\r\nHost: g\r\nContent-Length: 10\r\n\r\n{", 408, "request_timeout"},
			{"chunks that do not come", "POST " + path + " HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{", 408, "request_timeout"},
		} {
			conn, r := send(t, g, c.raw)
			_ = conn.SetReadDeadline(time.Now().Add(patience))
			a := answerTo(t, r, "POST")
			if a.Status != c.status {
				t.Errorf("%s, %s: %d %s %v, want %d", path, c.name, a.Status, a.Body, a.Err, c.status)
				continue
			}
			if got := readError(t, path, a); path == chat && got.code != c.code {
				t.Errorf("%s, %s: %+v", path, c.name, got)
			}
			if rest, err := io.ReadAll(r); len(rest) > 0 || err != nil {
				t.Errorf("%s, %s: behind the answer comes %q %v", path, c.name, rest, err)
			}
			conn.Close()
		}
	}
	if n := e.Received(); n != 0 {
		t.Errorf("the engine was asked %d times", n)
	}
}

// A client that is told in the middle of its upload that it is too large gets to read it: to close a socket with unread
// bytes resets it, and the answer may be lost.
func TestC100TheAnswerArrivesDuringAnUpload(t *testing.T) {
	g := gatewaytest.Start(t, open(`"defaults": {"max_body_bytes": 1000}`, "", engine(t, sim.Behaviour{}).URL()))
	body := strings.Repeat("x", 4<<20)
	for range 20 {
		for _, raw := range []string{
			post(chat, body), "POST " + chat + " HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n400000\r\n" + body + "\r\n0\r\n\r\n",
			"POST " + chat + " HTTP/1.1\r\nHost: g\r\nX-Large: " + body,
		} {
			c := g.Dial()
			_ = c.SetDeadline(time.Now().Add(patience))
			written := make(chan struct{})
			go func() {
				defer close(written)
				_, _ = io.WriteString(c, raw) // it may be cut off, once the answer is there
			}()
			resp := make([]byte, 12)
			if _, err := io.ReadFull(c, resp); err != nil || string(resp[:9]) != "HTTP/1.1 " || resp[9] != '4' {
				t.Errorf("%q %v", resp, err)
			}
			c.Close()
			<-written
		}
	}
}

func TestC102AnAnswerCutShort(t *testing.T) {
	short := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n12345"
	cut := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"
	once := func(answer string) string {
		return upstream(t, func(_ int, c *net.TCPConn) {
			if read(bufio.NewReader(c)) != nil {
				_, _ = io.WriteString(c, answer)
			}
		})
	}
	well := engine(t, sim.Behaviour{})
	fallback := fmt.Sprintf(`"models": [{"name": "m", "instances": [{"name": "m-1", "url": "%%s"}]},
		{"name": "other", "instances": [{"name": "o-1", "url": %q}]}],
		"routes": [{"name": "m", "access_policy": "public", "targets": [{"model": "m"}%%s]}]`, well.URL())
	for _, answer := range []string{short, cut} {
		for _, path := range []string{chat, "/v1/messages"} {
			g := gatewaytest.Start(t, "{"+fmt.Sprintf(fallback, once(answer), "")+"}")
			a := g.Post(path, chatBody)
			if e := readError(t, path, a); a.Status != 502 || path == chat && e.code != "upstream_error" {
				t.Errorf("%d %s", a.Status, a.Body)
			}
			if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_error" || l["status"] != 502.0 {
				t.Errorf("access log: %v", l)
			}
			g = gatewaytest.Start(t, "{"+fmt.Sprintf(fallback, once(answer), `, {"model": "other", "fallback_status_codes": ["5xx"]}`)+"}")
			if a := g.Post(path, `{"model": "m", "max_tokens": 5, "messages": [{"role": "user", "content": "hi"}]}`); a.Status != 200 || strings.Contains(a.Body, "12345") {
				t.Errorf("with a fallback: %d %s", a.Status, a.Body)
			}
		}
	}
	// A body too long to be held back is cut off where the upstream's was, and never ends well.
	for _, framing := range []string{"Content-Length: 3000000", "Transfer-Encoding: chunked"} {
		body := strings.Repeat("x", 2<<20)
		answer := "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + framing + "\r\n\r\n" + body
		if framing[0] == 'T' {
			answer = strings.Replace(answer, "\r\n\r\n", "\r\n\r\n200000\r\n", 1) + "\r\n"
		}
		g := gatewaytest.Start(t, "{"+fmt.Sprintf(fallback, once(answer), `, {"model": "other", "fallback_status_codes": ["5xx"]}`)+"}")
		a := g.Post(chat, chatBody)
		if a.Status != http.StatusOK || a.Err == nil || a.Body != body {
			t.Errorf("%s: %d, %d bytes, %v", framing, a.Status, len(a.Body), a.Err)
		}
		if l := g.WaitRequests(1)[0]; l["outcome"] != "upstream_aborted" || l["attempts"] != 1.0 {
			t.Errorf("access log: %v", l)
		}
	}
}
