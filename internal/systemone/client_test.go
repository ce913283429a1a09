package systemone

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

type token string

func (t token) Reveal() string { return string(t) }

const answer = `{"answers":{"model_selection":{"type":"choice","choice":"a"}}}`

var errOdd = errors.New("odd")

// accept takes what begins as the answer does.
func accept(got []byte) error {
	if !strings.HasPrefix(string(got), `{"answers":`) {
		return errOdd
	}
	return nil
}

// clock moves only when a test says so.
type clock struct{ at atomic.Int64 }

func (c *clock) now() time.Time          { return time.Unix(1_700_000_000, c.at.Load()) }
func (c *clock) advance(d time.Duration) { c.at.Add(int64(d)) }

// bench is a client with a record of what it says of itself.
type bench struct {
	*Client
	t     testing.TB
	clock clock

	mu     sync.Mutex
	events []Event
	states []ServiceState
}

func newBench(tb testing.TB) *bench {
	tb.Helper()
	b := &bench{t: tb}
	b.Client = New(Config{Now: b.clock.now,
		Asked: func(e Event) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.events = append(b.events, e)
		},
		Switched: func(s ServiceState) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.states = append(b.states, s)
		}})
	tb.Cleanup(b.Close)
	return b
}

// count returns how many questions ended so.
func (b *bench) count(r Result) (n int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.Result == r {
			n++
		}
	}
	return n
}

// expect asks and checks how that ended.
func (b *bench) expect(q Question, want Result) *Error {
	b.t.Helper()
	got, err := b.Ask(b.t.Context(), q)
	var fault *Error
	if errors.As(err, &fault) {
		if fault.Result != want {
			b.t.Fatalf("got %s (%v), want %s", fault.Result, err, want)
		}
		if fault.Service != "jev" || !strings.HasPrefix(err.Error(), `decision service "jev": `) {
			b.t.Errorf("error %q", err)
		}
	} else if string(got) != answer || err != nil {
		b.t.Fatalf("got %q, %v", got, err)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if last := b.events[len(b.events)-1]; last.Result != want || last.Err.resultOr(want) != want {
		b.t.Fatalf("the event says %s, want %s", last.Result, want)
	}
	return fault
}

func (e *Error) resultOr(r Result) Result {
	if e == nil {
		return r
	}
	return e.Result
}

// serve starts a service.
func serve(tb testing.TB, h http.HandlerFunc) (url string) {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	return s.URL
}

func about(endpoint, text string) Question {
	return Question{Service: "jev", Endpoint: endpoint, Token: token("t0ken"), Body: []byte(text), Timeout: 30 * time.Second,
		Keep: time.Minute, Accept: accept}
}

func TestAsk(t *testing.T) {
	requests := make(chan string, 9)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		requests <- fmt.Sprint(r.Method, " ", r.RequestURI, " ", r.Header.Get("Authorization"), " ", r.Header.Get("Content-Type"), " ",
			r.Header.Get("Accept-Encoding"), " ", r.ContentLength, " ", string(body))
		if r.Header.Get("Cookie") != "" || r.Header["Idempotency-Key"] != nil {
			t.Errorf("headers %v", r.Header)
		}
		w.Header().Set("Set-Cookie", "a=b")
		fmt.Fprint(w, answer)
	})
	b := newBench(t)
	b.expect(about(url+"/api", `{"x":1}`), Answered)
	if got := <-requests; got != `POST /api/v1/systemone Bearer t0ken application/json  7 {"x":1}` {
		t.Errorf("got %s", got)
	}
	q := about(url, `{"x":2}`)
	q.Token = token("")
	b.expect(q, Answered)
	if got := <-requests; got != `POST /v1/systemone  application/json  7 {"x":2}` {
		t.Errorf("got %s", got)
	}
}

// C050: whatever the service does, the one who asks knows within the timeout, and a label tells what it was.
func TestC050_WhatServicesDo(t *testing.T) {
	gone, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	gone.Close()
	status := func(code int) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(code)
			fmt.Fprint(w, answer)
		}
	}
	body := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }
	}
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or its end is not noticed
		<-r.Context().Done()
	}
	flushed := func(w http.ResponseWriter, text string) {
		fmt.Fprint(w, text)
		_ = http.NewResponseController(w).Flush()
	}
	raw := func(text string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			conn, _, _ := http.NewResponseController(w).Hijack()
			_, _ = io.WriteString(conn, text)
			conn.Close()
		}
	}
	tests := []struct {
		name   string
		serve  http.HandlerFunc
		want   Result
		effect effect
	}{
		{"answers", body(answer), Answered, good},
		{"201", status(201), Answered, good},
		{"hangs", hang, Timeout, bad},
		{"sends its head and hangs", func(w http.ResponseWriter, r *http.Request) { flushed(w, ""); hang(w, r) }, Timeout, bad},
		{"drips", func(w http.ResponseWriter, r *http.Request) {
			for i := 0; r.Context().Err() == nil; i++ {
				flushed(w, " ")
				time.Sleep(time.Millisecond)
			}
		}, Timeout, bad},
		{"refuses", nil, Unreachable, bad},
		{"closes at once", raw(""), Unreachable, bad},
		{"closes in the head", raw("HTTP/1.1 200 OK\r\nContent-Le"), Unreachable, bad},
		{"closes in the answer", raw("HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + answer), Unreachable, bad},
		{"is no HTTP service", raw("secret text of the request\r\n\r\n"), Unreachable, bad},
		{"sends a head without end", raw("HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", 1<<20)), Unreachable, bad},
		{"500", status(500), Failed, bad},
		{"503", status(503), Failed, bad},
		{"529", status(529), Failed, bad},
		{"401", status(401), Failed, bad},
		{"403", status(403), Failed, bad},
		{"404", status(404), Failed, bad},
		{"408", status(408), Failed, bad},
		{"429", status(429), Failed, bad},
		{"302", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/elsewhere", http.StatusFound) }, Failed, bad},
		{"307", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "/elsewhere", http.StatusTemporaryRedirect)
		}, Failed, bad},
		{"400", status(400), Rejected, neutral},
		{"413", status(413), Rejected, neutral},
		{"422", status(422), Rejected, neutral},
		{"204", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, Malformed, bad},
		{"answers nothing", body(""), Malformed, bad},
		{"answers no JSON", body("<html>"), Malformed, bad},
		{"answers without end", func(w http.ResponseWriter, r *http.Request) {
			for r.Context().Err() == nil {
				flushed(w, answer)
			}
		}, TooLarge, bad},
		{"answers a byte too much", body(answer + strings.Repeat(" ", maxAnswer-len(answer)+1)), TooLarge, bad},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var elsewhere atomic.Bool
			endpoint := "http://" + gone.Addr().String()
			if test.serve != nil {
				endpoint = serve(t, func(w http.ResponseWriter, r *http.Request) {
					elsewhere.Store(elsewhere.Load() || r.URL.Path != "/v1/systemone")
					test.serve(w, r)
				})
			}
			q := about(endpoint, "secret text of the request")
			if test.want == Timeout {
				q.Timeout = 50 * time.Millisecond
			}
			b := newBench(t)
			fault := b.expect(q, test.want)
			if fault != nil && (strings.Contains(fault.Error(), "secret") || strings.Contains(fault.Error(), "t0ken")) {
				t.Errorf("the error tells too much: %v", fault)
			}
			if got := test.want.effect(); got != test.effect {
				t.Errorf("effect %v, want %v", got, test.effect)
			}
			if s := b.States(); len(s) != 1 || s[0].Service != "jev" || s[0].Endpoint != endpoint || (s[0].Failures == 1) != (test.effect == bad) {
				t.Errorf("states %+v", s)
			}
			if elsewhere.Load() {
				t.Error("a redirect was followed")
			}
			b.mu.Lock()
			defer b.mu.Unlock()
			if got := b.events[0].Label(); got != string(test.want) && (test.want != Malformed || got != "odd") {
				t.Errorf("label %q", got)
			}
		})
	}
}

// C050: a service that takes connections and nothing else, with or without TLS.
func TestC050_SilentService(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, scheme := range []string{"http://", "https://"} {
		b := newBench(t)
		q := about(scheme+l.Addr().String(), strings.Repeat("x", 8<<20)) // more than the system takes off our hands
		q.Timeout = 50 * time.Millisecond
		b.expect(q, Timeout)
		b.Close() // and nothing is left behind
	}
}

func TestAsk_TLS(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, answer) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.StartTLS()
	defer s.Close()
	if fault := newBench(t).expect(about(s.URL, "x"), Unreachable); !strings.Contains(fault.Detail, "certificate") {
		t.Errorf("an unknown authority: %v", fault)
	}
	b := newBench(t)
	b.transport.TLSClientConfig = s.Client().Transport.(*http.Transport).TLSClientConfig
	b.expect(about(s.URL, "y"), Answered)
}

// Connections are kept, and one that the service has closed meanwhile costs nothing.
func TestAsk_KeepsConnections(t *testing.T) {
	var opened atomic.Int32
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, _ := io.ReadAll(r.Body); string(body) == "bad" {
			w.WriteHeader(422)
		}
		fmt.Fprint(w, answer)
	}))
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			opened.Add(1)
		}
	}
	s.Start()
	defer s.Close()
	b := newBench(t)
	for i := range 10 {
		b.expect(about(s.URL, strconv.Itoa(i)), Answered)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("%d connections for 10 questions", n)
	}
	b.expect(about(s.URL, "bad"), Rejected)
	for i := range 50 {
		s.CloseClientConnections()
		b.expect(about(s.URL, fmt.Sprint("again", i)), Answered)
	}
}

func TestClose(t *testing.T) {
	asked := make(chan bool, 9)
	url := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		asked <- true
		<-r.Context().Done()
	})
	b := newBench(t)
	ended := make(chan error)
	go func() {
		_, err := b.Ask(context.Background(), about(url, "x"))
		ended <- err
	}()
	<-asked
	b.Close()
	var fault *Error
	if err := <-ended; !errors.As(err, &fault) || fault.Result != Cancelled {
		t.Errorf("got %v", err)
	}
	b.expect(about(url, "y"), Cancelled)
	if len(asked) != 0 {
		t.Error("asked after Close")
	}
}
