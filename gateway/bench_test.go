package gateway_test

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

// replier is an upstream that gives every request the same answer, one write a piece, and allocates nothing once it runs:
// what is measured is what lies before it.
func replier(t testing.TB, pieces ...string) string {
	var answer [][]byte
	for _, p := range pieces {
		answer = append(answer, []byte(p))
	}
	return upstream(t, func(_ int, c *net.TCPConn) {
		buf := make([]byte, 0, 1<<20)
		for {
			var ok bool
			if buf, ok = readMessage(c, buf[:0], bodyEnd); !ok {
				return
			}
			for _, p := range answer {
				if _, err := c.Write(p); err != nil {
					return
				}
			}
		}
	})
}

// readMessage reads until end says that a message is complete.
func readMessage(c net.Conn, buf []byte, end func([]byte) bool) ([]byte, bool) {
	for !end(buf) {
		if len(buf) == cap(buf) {
			return buf, false
		}
		n, err := c.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if err != nil {
			return buf, false
		}
	}
	return buf, true
}

var contentLength = []byte("Content-Length: ")

// bodyEnd reports whether a message is complete whose head says its length.
func bodyEnd(b []byte) bool {
	head := bytes.Index(b, []byte("\r\n\r\n"))
	at := bytes.Index(b, contentLength)
	if head < 0 || at < 0 {
		return false
	}
	n := 0
	for _, c := range b[at+len(contentLength):] {
		if c < '0' || c > '9' {
			break
		}
		n = 10*n + int(c-'0')
	}
	return len(b) >= head+4+n
}

// chunksEnd reports whether a message in chunks is complete.
func chunksEnd(b []byte) bool { return bytes.HasSuffix(b, []byte(lastChunk)) }

// repeater is a client that sends the same request again and again on one connection, and allocates nothing.
type repeater struct {
	net.Conn
	request, buf []byte
	end          func([]byte) bool
}

func newRepeater(t testing.TB, addr, request string, end func([]byte) bool) *repeater {
	t.Helper()
	c, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &repeater{c, []byte(request), make([]byte, 0, 1<<20), end}
}

func (c *repeater) call(t testing.TB) {
	if _, err := c.Write(c.request); err != nil {
		t.Error(err)
		return
	}
	var ok bool
	if c.buf, ok = readMessage(c, c.buf[:0], c.end); !ok || !bytes.HasPrefix(c.buf, []byte("HTTP/1.1 200 OK\r\n")) {
		t.Errorf("the answer is %.300q", c.buf)
	}
}

// plain is what the gateway is compared with: a proxy made of the same HTTP library, which forwards everything to one
// address and knows nothing.
func plain(t testing.TB, url string, stream bool) string {
	t.Helper()
	up := &fasthttp.HostClient{
		Addr: strings.TrimPrefix(url, "http://"), StreamResponseBody: stream, MaxIdleConnDuration: 100 * time.Millisecond,
		Dial: func(addr string) (net.Conn, error) { return net.Dial("tcp", addr) },
	}
	server := &fasthttp.Server{NoDefaultServerHeader: true, Handler: func(ctx *fasthttp.RequestCtx) {
		ctx.Request.Header.SetHost(up.Addr)
		if !stream {
			if err := up.Do(&ctx.Request, &ctx.Response); err != nil {
				t.Error(err)
			}
			return
		}
		resp := fasthttp.AcquireResponse()
		if err := up.Do(&ctx.Request, resp); err != nil {
			t.Error(err)
			return
		}
		ctx.Response.Header.SetContentTypeBytes(resp.Header.ContentType())
		ctx.Response.SetBodyStream(resp.BodyStream(), -1)
	}}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Serve(ln) }()
	t.Cleanup(func() { _ = server.Shutdown(); up.CloseIdleConnections(); <-done })
	return ln.Addr().String()
}

// compare runs a request through the gateway, through the plain proxy, and to the upstream itself.
func compare(b *testing.B, url, request string, end func([]byte) bool, stream bool) {
	for _, way := range []string{"gateway", "plain", "direct"} {
		b.Run(way, func(b *testing.B) {
			addr := strings.TrimPrefix(url, "http://")
			switch way {
			case "gateway":
				addr = gatewaytest.Start(b, open("", "", url), gatewaytest.LogTo(io.Discard)).Addr
			case "plain":
				addr = plain(b, url, stream)
			}
			c := newRepeater(b, addr, request, end)
			c.call(b)
			b.ReportAllocs()
			b.SetBytes(int64(len(c.request)))
			for b.Loop() {
				c.call(b)
			}
			c.Close()
		})
	}
}

const completion = `{"id":"chatcmpl-1","object":"chat.completion","created":1700000000,"model":"served","choices":[{"index":0,` +
	`"message":{"role":"assistant","content":"Hello! How can I help you today?"},"finish_reason":"stop"}],` +
	`"usage":{"prompt_tokens":9,"completion_tokens":9,"total_tokens":18}}`

// event64 is a stream of 64 events of the size that engines send.
func event64() []string {
	pieces := []string{streamHead}
	for i := range 64 {
		pieces = append(pieces, chunk(events(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1700000000,"model":"served",`+
			`"choices":[{"index":0,"delta":{"content":"word`+strconv.Itoa(i)+`"},"finish_reason":null}]}`)))
	}
	return append(pieces, chunk(events("[DONE]")), lastChunk)
}

func BenchmarkChat(b *testing.B) {
	url := replier(b, whole("Content-Type: application/json\r\n", completion))
	// The large one first: the HTTP server keeps buffers of the sizes that it has mostly seen.
	for _, size := range []int{32 << 10, 100} {
		b.Run(strconv.Itoa(size), func(b *testing.B) { compare(b, url, post(chat, padBody(false, size)), bodyEnd, false) })
	}
}

func BenchmarkStream64Events(b *testing.B) {
	compare(b, replier(b, event64()...), post(chat, padBody(true, 100)), chunksEnd, true)
}
