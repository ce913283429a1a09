package gateway_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/gatewaytest"
)

// patience is how long a test waits for what must happen; it says nothing of how fast it is.
const patience = 30 * time.Second

// manual is an upstream whose answers a test writes by hand, piece by piece.
type manual struct {
	t     testing.TB
	url   string
	calls chan *call
}

// call is a request that has arrived at a manual upstream.
type call struct {
	*net.TCPConn
	t       testing.TB
	n       int // of its connection, from 0
	request *http.Request
	over    chan struct{}
}

func byHand(t testing.TB) *manual {
	t.Helper()
	m := &manual{t: t, calls: make(chan *call)}
	m.url = upstream(t, func(n int, c *net.TCPConn) {
		for r := bufio.NewReader(c); ; {
			q := &call{TCPConn: c, t: t, n: n, request: read(r), over: make(chan struct{})}
			if q.request == nil {
				return
			}
			select {
			case m.calls <- q:
			case <-t.Context().Done():
				return
			}
			select {
			case <-q.over:
			case <-t.Context().Done():
				return
			}
		}
	})
	return m
}

// next waits for the next request.
func (m *manual) next() *call {
	m.t.Helper()
	return await(m.t, m.calls)
}

// none fails the test if another request has come.
func (m *manual) none() {
	m.t.Helper()
	select {
	case <-m.calls:
		m.t.Error("one request too many came")
	default:
	}
}

// say writes a piece of the answer.
func (q *call) say(p string) {
	q.t.Helper()
	if _, err := io.WriteString(q, p); err != nil {
		q.t.Fatal(err)
	}
}

// end ends the answer: the connection waits for another request.
func (q *call) end() { close(q.over) }

// reset ends the connection with RST.
func (q *call) reset() {
	_ = q.SetLinger(0)
	q.Close()
}

// abandoned waits until the gateway has closed the connection, without sending anything more on it.
func (q *call) abandoned() {
	q.t.Helper()
	_ = q.SetReadDeadline(time.Now().Add(patience))
	n, err := q.Read(make([]byte, 1))
	if n != 0 || errors.Is(err, os.ErrDeadlineExceeded) {
		q.t.Fatalf("the gateway has not closed its connection: %d bytes, %v", n, err)
	}
}

// overTLS is what a gateway is started with whose clients speak TLS, or don't.
func overTLS(secure bool) []gatewaytest.Option {
	if !secure {
		return nil
	}
	return []gatewaytest.Option{gatewaytest.TLS()}
}

// await receives from a channel.
func await[T any](t testing.TB, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatal("it has not come")
	}
	return v
}

// chunk is one chunk.
func chunk(p string) string { return fmt.Sprintf("%x\r\n%s\r\n", len(p), p) }

const (
	okHead     = "HTTP/1.1 200 OK\r\n"
	sse        = "Content-Type: text/event-stream\r\n"
	inChunks   = "Transfer-Encoding: chunked\r\n"
	lastChunk  = "0\r\n\r\n"
	streamHead = okHead + sse + inChunks + "\r\n"
)

// answer reads the head of an answer.
func answer(t testing.TB, r *bufio.Reader) *http.Response {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	return resp
}

// expect reads exactly what is wanted.
func expect(t testing.TB, r io.Reader, want string) {
	t.Helper()
	got := make([]byte, len(want))
	n, err := io.ReadFull(r, got)
	if err != nil || string(got) != want {
		t.Fatalf("got %.300q, %v; want %.300q", got[:n], err, want)
	}
}

// ended reads to the end of a body, which must be a proper one.
func ended(t testing.TB, r io.Reader) {
	t.Helper()
	if rest, err := io.ReadAll(r); err != nil || len(rest) > 0 {
		t.Fatalf("the body goes on with %.300q, or ends with %v", rest, err)
	}
}

// raw is an answer as it stands on the wire, taken apart without help.
type raw struct {
	status string
	header http.Header
	head   string
	body   string // with its framing
}

// wire sends a request that ends its connection and reads all that comes.
func wire(t testing.TB, g *gatewaytest.Gateway, request string) raw {
	t.Helper()
	_, r := send(t, g, request)
	all, err := io.ReadAll(r)
	if err != nil {
		t.Fatalf("after %.300q: %v", all, err)
	}
	return takeApart(t, string(all))
}

func takeApart(t testing.TB, all string) raw {
	t.Helper()
	head, body, ok := strings.Cut(all, "\r\n\r\n")
	if !ok {
		t.Fatalf("no head in %.300q", all)
	}
	a := raw{header: http.Header{}, head: head, body: body}
	for i, line := range strings.Split(head, "\r\n") {
		if i == 0 {
			a.status = line
			continue
		}
		name, value, ok := strings.Cut(line, ": ")
		if !ok {
			t.Fatalf("a header line reads %q", line)
		}
		a.header[name] = append(a.header[name], value)
	}
	return a
}

// payload takes the framing off, and fails the test unless there is exactly one.
func (a raw) payload(t testing.TB) string {
	t.Helper()
	length, coding := a.header["Content-Length"], a.header["Transfer-Encoding"]
	switch {
	case len(length) == 1 && len(coding) == 0:
		if length[0] != fmt.Sprint(len(a.body)) {
			t.Fatalf("Content-Length %s over %d bytes: %.300q", length[0], len(a.body), a.body)
		}
		return a.body
	case len(length) == 0 && len(coding) == 1 && coding[0] == "chunked":
		r := bufio.NewReader(strings.NewReader(a.body))
		b, err := io.ReadAll(httputil.NewChunkedReader(r))
		rest, _ := io.ReadAll(r)
		if err != nil || string(rest) != "\r\n" {
			t.Fatalf("chunks: %v, then %.100q", err, rest)
		}
		return string(b)
	}
	t.Fatalf("framing: Content-Length %q, Transfer-Encoding %q", length, coding)
	return ""
}

// events is an event stream of some texts.
func events(texts ...string) string {
	var b bytes.Buffer
	for _, s := range texts {
		fmt.Fprintf(&b, "data: %s\n\n", s)
	}
	return b.String()
}
