package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// peer is a server that does with each connection what a test says.
func peer(t *testing.T, serve func(n int, c *net.TCPConn)) Addr {
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
			serve(n, c.(*net.TCPConn))
		}
	}()
	t.Cleanup(func() { ln.Close(); <-done })
	return Addr{Host: ln.Addr().String()}
}

// connect returns a connection, an idle one if there is one.
func connect(p *Pool, limit time.Duration) (*Conn, error) {
	if c := p.Idle(); c != nil {
		return c, nil
	}
	return p.Dial(context.Background(), limit)
}

// readRequest reads one request with its body.
func readRequest(t *testing.T, c net.Conn) string {
	t.Helper()
	var got bytes.Buffer
	buf := make([]byte, 1)
	for !bytes.HasSuffix(got.Bytes(), []byte("\r\n\r\n")) {
		if _, err := c.Read(buf); err != nil {
			return got.String()
		}
		got.Write(buf)
	}
	var length int
	for line := range strings.SplitSeq(got.String(), "\r\n") {
		fmt.Sscanf(line, "Content-Length: %d", &length)
	}
	io.CopyN(&got, c, int64(length))
	return got.String()
}

func client(t *testing.T) *Client {
	t.Helper()
	c := NewClient(nil)
	t.Cleanup(func() {
		c.Close()
		if n := c.Open(); n != 0 {
			t.Errorf("%d connections are still open", n)
		}
	})
	return c
}

var someLimits = Limits{FirstByte: 5 * time.Second, Idle: 5 * time.Second}

const hello = "POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi"

// get takes a connection and makes the round trip up to the head.
func get(t *testing.T, c *Client, a Addr, l Limits, h *fasthttp.ResponseHeader) (*Conn, error) {
	t.Helper()
	conn, err := connect(c.Pool(a), 5*time.Second)
	if err != nil {
		return nil, err
	}
	return conn, conn.RoundTrip("POST", h, l, []byte(hello))
}

func body(c *Conn) (string, error) {
	var b strings.Builder
	for {
		p, err := c.Next()
		b.Write(p)
		if err == io.EOF {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
	}
}

func TestFramings(t *testing.T) {
	for name, c := range map[string]struct {
		answer, want string
		length       int64
		reusable     bool
	}{
		"length":           {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 5, true},
		"chunked":          {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n", "hello", -1, true},
		"until the close":  {"HTTP/1.1 200 OK\r\n\r\nhello", "hello", -1, false},
		"HTTP/1.0":         {"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 5, false},
		"close is named":   {"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello", "hello", 5, false},
		"no content":       {"HTTP/1.1 204 No Content\r\n\r\n", "", 0, true},
		"after 100":        {"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 5, true},
		"after early hint": {"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello", "hello", 5, true},
		"bytes behind":     {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhelloHTTP/1.1 200 OK", "hello", 5, false},
		"large head":       {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 20<<10) + "\r\nContent-Length: 5\r\n\r\nhello", "hello", 5, true},
		"large body":       {"HTTP/1.1 200 OK\r\nContent-Length: 300000\r\n\r\n" + strings.Repeat("0123456789", 30000), strings.Repeat("0123456789", 30000), 300000, true},
	} {
		for _, piece := range []int{0, 1} { // in one write, and byte by byte
			if piece == 1 && len(c.answer) > 10000 {
				continue
			}
			t.Run(fmt.Sprintf("%s/%d", name, piece), func(t *testing.T) {
				sent := make(chan struct{})
				a := peer(t, func(_ int, conn *net.TCPConn) {
					defer close(sent)
					readRequest(t, conn)
					if piece == 0 {
						io.WriteString(conn, c.answer)
					} else {
						for i := range len(c.answer) {
							conn.Write([]byte{c.answer[i]})
						}
					}
					if !c.reusable {
						conn.Close()
					} else {
						t.Cleanup(func() { conn.Close() })
					}
				})
				cl := client(t)
				var h fasthttp.ResponseHeader
				conn, err := get(t, cl, a, someLimits, &h)
				if err != nil {
					t.Fatal(err)
				}
				if h.StatusCode() != 200 && h.StatusCode() != 204 || conn.Length() != c.length {
					t.Fatalf("status %d, length %d", h.StatusCode(), conn.Length())
				}
				got, err := body(conn)
				if err != nil || got != c.want {
					t.Fatalf("got %d bytes %.50q, error %v", len(got), got, err)
				}
				conn.Release()
				<-sent // what is behind the answer may come late
				again := cl.Pool(a).Idle()
				if usable := again != nil && again.socket.Silent(); usable != c.reusable {
					t.Fatalf("the connection is used again: %v, want %v", usable, c.reusable)
				}
				if again != nil {
					again.Release()
				}
			})
		}
	}
}

func TestFailures(t *testing.T) {
	short := Limits{FirstByte: 50 * time.Millisecond, Idle: 50 * time.Millisecond}
	for name, c := range map[string]struct {
		answer  string
		then    string // "close", "reset", "silence"
		stage   Stage
		timeout bool
		cause   error
	}{
		"closed before an answer":      {"", "close", Head, false, ErrCut},
		"reset before an answer":       {"", "reset", Head, false, nil},
		"silence":                      {"", "silence", Head, true, nil},
		"cut in the head":              {"HTTP/1.1 200 OK\r\nContent-Le", "close", Head, false, ErrCut},
		"not HTTP":                     {"SSH-2.0-OpenSSH\r\n\r\n", "close", Head, false, nil},
		"switching protocols":          {"HTTP/1.1 101 Switching Protocols\r\n\r\n", "close", Head, false, ErrUpgrade},
		"endless head":                 {"HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", MaxHead), "silence", Head, false, ErrHeadTooLarge},
		"two lengths":                  {"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "close", Head, false, nil},
		"short body":                   {"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello", "close", Body, false, ErrCut},
		"chunked body without its end": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", "close", Body, false, ErrCut},
		"broken chunk":                 {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\nzz", "silence", Body, false, ErrChunk},
		"silence after the head":       {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", "silence", Body, true, nil},
		"silence in the body":          {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe", "silence", Body, true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := peer(t, func(_ int, conn *net.TCPConn) {
				readRequest(t, conn)
				io.WriteString(conn, c.answer)
				switch c.then {
				case "reset":
					conn.SetLinger(0)
					fallthrough
				case "close":
					conn.Close()
				default:
					t.Cleanup(func() { conn.Close() })
				}
			})
			var h fasthttp.ResponseHeader
			conn, err := get(t, client(t), a, short, &h)
			if err == nil {
				_, err = body(conn)
			}
			conn.Release()
			var e *Error
			if !errors.As(err, &e) || e.Stage != c.stage || e.Timeout() != c.timeout || c.cause != nil && !errors.Is(err, c.cause) {
				t.Fatalf("got %v (%#v)", err, e)
			}
			if e.Stale {
				t.Error("a fresh connection is called stale")
			}
		})
	}
}

// C027: a connection that the upstream closes just as it is used again is told apart from one that failed.
func TestC027_StaleConnection(t *testing.T) {
	a := peer(t, func(_ int, conn *net.TCPConn) {
		readRequest(t, conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		conn.Read(make([]byte, 1)) // of the next request
		conn.Close()
	})
	cl := client(t)
	var h fasthttp.ResponseHeader
	conn, err := get(t, cl, a, someLimits, &h)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := body(conn); err != nil {
		t.Fatal(err)
	}
	conn.Release()
	conn, err = get(t, cl, a, someLimits, &h)
	if !IsStale(err) {
		t.Fatalf("got %v", err)
	}
	conn.Release()
}

// A connection on which something has come while it was idle, its end or bytes that nobody asked for, is not used again.
func TestIdleConnectionsAreQuiet(t *testing.T) {
	const hi = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"
	for name, c := range map[string]struct {
		with  string // sent in one write with the answer
		later func(net.Conn)
		again bool // it is used again
	}{
		"nothing":                     {"", func(net.Conn) {}, true},
		"its end":                     {"", func(c net.Conn) { c.Close() }, false},
		"an answer to nothing":        {"", func(c net.Conn) { io.WriteString(c, hi) }, false},
		"an answer behind the answer": {hi, func(net.Conn) {}, false},
	} {
		for _, secure := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, TLS: %v", name, secure), func(t *testing.T) {
				answered, said := make(chan struct{}), make(chan struct{})
				var once sync.Once
				hs := httptest.NewUnstartedServer(nil)
				hs.StartTLS() // for its certificate
				hs.Close()
				a := peer(t, func(_ int, tcp *net.TCPConn) {
					defer tcp.Close()
					var conn net.Conn = tcp
					if secure {
						conn = tls.Server(tcp, hs.TLS)
					}
					for r := bufio.NewReader(conn); ; {
						req, err := http.ReadRequest(r)
						if err != nil {
							return
						}
						io.Copy(io.Discard, req.Body)
						io.WriteString(conn, hi+c.with)
						once.Do(func() { <-answered; c.later(conn); close(said) })
					}
				})
				a.TLS = secure
				cl := NewClient(hs.Client().Transport.(*http.Transport).TLSClientConfig.Clone())
				defer cl.Close()
				var h fasthttp.ResponseHeader
				first, err := get(t, cl, a, someLimits, &h)
				if err != nil {
					t.Fatal(err)
				}
				if got, err := body(first); got != "hi" || err != nil {
					t.Fatalf("%q, %v", got, err)
				}
				first.Release()
				close(answered)
				<-said
				second, err := get(t, cl, a, someLimits, &h)
				if IsStale(err) { // as every caller does
					second.Release()
					second, err = get(t, cl, a, someLimits, &h)
				}
				if err != nil {
					t.Fatal(err)
				}
				if got, err := body(second); got != "hi" || err != nil || (first == second) != c.again {
					t.Errorf("%q, %v, the same connection: %v", got, err, first == second)
				}
				second.Release()
			})
		}
	}
}

// An upstream that refuses a request before it has read it to its end is heard.
func TestEarlyAnswer(t *testing.T) {
	a := peer(t, func(_ int, conn *net.TCPConn) {
		io.ReadFull(conn, make([]byte, 1000))
		io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
		conn.CloseWrite()
		io.Copy(io.Discard, io.LimitReader(conn, 64<<20))
		conn.Close()
	})
	conn, err := connect(client(t).Pool(a), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	var h fasthttp.ResponseHeader
	err = conn.RoundTrip("POST", &h, someLimits, []byte("POST / HTTP/1.1\r\nContent-Length: 16000000\r\n\r\n"), make([]byte, 16000000))
	if err != nil || h.StatusCode() != 413 {
		t.Fatalf("status %d, error %v", h.StatusCode(), err)
	}
	conn.Release()
}

func TestAbort(t *testing.T) {
	for _, answer := range []string{"", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhe"} {
		gone := make(chan struct{})
		reading := make(chan struct{})
		a := peer(t, func(_ int, conn *net.TCPConn) {
			readRequest(t, conn)
			io.WriteString(conn, answer)
			close(reading)
			io.Copy(io.Discard, conn)
			conn.Close()
			close(gone)
		})
		cl := client(t)
		conn, err := connect(cl.Pool(a), time.Second)
		if err != nil {
			t.Fatal(err)
		}
		go func() { <-reading; conn.Abort() }()
		var h fasthttp.ResponseHeader
		if err = conn.RoundTrip("POST", &h, Limits{}, []byte(hello)); err == nil {
			_, err = body(conn)
		}
		if !errors.Is(err, ErrAborted) {
			t.Fatalf("got %v", err)
		}
		<-gone
		conn.Release()
	}
}

func TestNextBefore(t *testing.T) {
	more := make(chan struct{})
	a := peer(t, func(_ int, conn *net.TCPConn) {
		readRequest(t, conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
		<-more
		io.WriteString(conn, "cd")
		t.Cleanup(func() { conn.Close() })
	})
	var h fasthttp.ResponseHeader
	conn, err := get(t, client(t), a, someLimits, &h)
	if err != nil {
		t.Fatal(err)
	}
	if p, err := conn.NextBefore(time.Now().Add(time.Minute)); err != nil || string(p) != "ab" {
		t.Fatalf("%q, %v", p, err)
	}
	if p, err := conn.NextBefore(time.Now().Add(20 * time.Millisecond)); err != ErrNotYet {
		t.Fatalf("%q, %v", p, err)
	}
	close(more)
	if got, err := body(conn); err != nil || got != "cd" {
		t.Fatalf("%q, %v", got, err)
	}
	conn.Release()
}

// Waits that are given up one after the other are one silence: the idle limit counts from the last byte.
func TestNextBefore_KeepsToTheIdleLimit(t *testing.T) {
	over := make(chan struct{})
	defer close(over)
	a := peer(t, func(_ int, conn *net.TCPConn) {
		readRequest(t, conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nab")
		<-over
		conn.Close()
	})
	var h fasthttp.ResponseHeader
	conn, err := get(t, client(t), a, Limits{FirstByte: time.Minute, Idle: 200 * time.Millisecond}, &h)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Release()
	if p, err := conn.Next(); err != nil || string(p) != "ab" {
		t.Fatalf("%q, %v", p, err)
	}
	for range 1000 { // each of them shorter than the limit
		if _, err = conn.NextBefore(time.Now().Add(5 * time.Millisecond)); err != ErrNotYet {
			break
		}
	}
	var up *Error
	if !errors.As(err, &up) || up.Stage != Body || !up.Timeout() {
		t.Errorf("the silence ended with %v", err)
	}
}

// C106: a steady body that lasts longer than any limit is not cut.
func TestC106_SteadyBodyOutlivesItsLimits(t *testing.T) {
	limit := 60 * time.Millisecond
	a := peer(t, func(_ int, conn *net.TCPConn) {
		readRequest(t, conn)
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n")
		for range 30 {
			time.Sleep(limit / 6)
			io.WriteString(conn, "x")
		}
		conn.Close()
	})
	var h fasthttp.ResponseHeader
	conn, err := get(t, client(t), a, Limits{FirstByte: 10 * limit, Idle: 3 * limit}, &h)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := body(conn); err != nil || len(got) != 30 {
		t.Fatalf("%q, %v", got, err)
	}
	conn.Release()
}

// C110: IPv6 and names work; an address that swallows everything fails within the connect limit.
func TestC110_Dialling(t *testing.T) {
	ln, err := net.Listen("tcp6", "[::1]:0")
	if err != nil {
		t.Skip("no IPv6 on this machine:", err)
	}
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			readRequest(t, conn)
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi")
			conn.Close()
		}
	}()
	defer ln.Close()
	cl := client(t)
	var h fasthttp.ResponseHeader
	conn, err := get(t, cl, Addr{Host: ln.Addr().String()}, someLimits, &h)
	if err != nil {
		t.Fatal(err)
	}
	conn.Release()

	full, err := net.ListenTCP("tcp", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := cl.Pool(Addr{Host: full.Addr().String()}).Dial(ctx, time.Second); err == nil {
		t.Fatal("a dial went on although its request was over")
	}
}

func TestTLS(t *testing.T) {
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	defer s.Close()
	host := strings.TrimPrefix(s.URL, "https://")

	cl := NewClient(s.Client().Transport.(*http.Transport).TLSClientConfig.Clone())
	defer cl.Close()
	for range 2 { // the second goes over the kept connection
		var h fasthttp.ResponseHeader
		conn, err := get(t, cl, Addr{Host: host, TLS: true}, someLimits, &h)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := body(conn); err != nil || got != "hi" {
			t.Fatalf("%q, %v", got, err)
		}
		conn.Release()
	}
	if cl.Open() != 1 {
		t.Errorf("%d connections", cl.Open())
	}

	strict := NewClient(&tls.Config{MinVersion: tls.VersionTLS12})
	defer strict.Close()
	var h fasthttp.ResponseHeader
	if _, err := get(t, strict, Addr{Host: host, TLS: true}, someLimits, &h); err == nil || !strings.Contains(err.Error(), "TLS") {
		t.Fatalf("an unknown certificate was taken: %v", err)
	}
}

// C063: after a reload no request goes over a connection to an address that is gone.
func TestC063_RetiredAddress(t *testing.T) {
	a := peer(t, func(_ int, conn *net.TCPConn) {
		go func() {
			for readRequest(t, conn) != "" {
				io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
			}
			conn.Close()
		}()
	})
	cl := client(t)
	var h fasthttp.ResponseHeader
	idle, err := get(t, cl, a, someLimits, &h)
	if err != nil {
		t.Fatal(err)
	}
	busy, err := get(t, cl, a, someLimits, &h)
	if err != nil {
		t.Fatal(err)
	}
	body(idle)
	idle.Release()
	cl.Retain(func(Addr) bool { return false })
	if cl.Open() != 1 {
		t.Fatalf("%d connections are open, only the busy one may be", cl.Open())
	}
	if got, err := body(busy); err != nil || got != "hi" {
		t.Fatalf("the running answer was touched: %q, %v", got, err)
	}
	busy.Release()
	if cl.Open() != 0 {
		t.Fatalf("%d connections are open", cl.Open())
	}
}

// The same connection, used again, must not fall to a deadline of the request before.
func TestDeadlinesDoNotOutliveTheirRequest(t *testing.T) {
	a := peer(t, func(_ int, conn *net.TCPConn) {
		for n := 0; readRequest(t, conn) != ""; n++ {
			if n == 1 {
				time.Sleep(150 * time.Millisecond)
			}
			io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
		}
		conn.Close()
	})
	cl := client(t)
	for n, l := range []Limits{{FirstByte: 100 * time.Millisecond, Idle: 100 * time.Millisecond}, {FirstByte: 10 * time.Second, Idle: 10 * time.Second}, {}} {
		var h fasthttp.ResponseHeader
		conn, err := get(t, cl, a, l, &h)
		if err != nil {
			t.Fatalf("request %d: %v", n, err)
		}
		body(conn)
		conn.Release()
	}
	if cl.Open() != 1 {
		t.Errorf("%d connections", cl.Open())
	}
}
