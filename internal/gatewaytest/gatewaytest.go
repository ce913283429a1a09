// Package gatewaytest runs a whole gateway on loopback for a test: a routes file as a literal, real sockets, and at the
// end a check that nothing is left in flight.
package gatewaytest

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
	"github.com/gpustack/gpustack-gateway/route"
)

// Gateway is a gateway under test.
type Gateway struct {
	*gateway.Gateway
	Addr     string // host:port
	URL      string // http://host:port, or https
	File     string // the routes file
	Table    *route.Table
	Fleet    *lb.Fleet
	Upstream *upstream.Client
	Metrics  *metrics.Metrics

	t   testing.TB
	log *lines
	tls *tls.Config // of its clients; nil without TLS
}

// Option changes how a gateway is started.
type Option func(*options)

type options struct {
	kinds  []plugins.Kind
	limits gateway.Limits
	level  zerolog.Level
	env    map[string]string
	tls    bool
	log    io.Writer
	wrap   func(net.Listener) net.Listener
}

// Kinds sets the policy plugins; without it there are none.
func Kinds(k ...plugins.Kind) Option { return func(o *options) { o.kinds = k } }

// Limits sets limits on clients.
func Limits(l gateway.Limits) Option { return func(o *options) { o.limits = l } }

// Env sets variables that the routes file may name.
func Env(env map[string]string) Option { return func(o *options) { o.env = env } }

// LogTo sends the access log to a writer, as in production: nothing of lower level is written, and Log and Requests hold
// nothing.
func LogTo(w io.Writer) Option { return func(o *options) { o.log, o.level = w, zerolog.InfoLevel } }

// Through puts something between the gateway and its listener.
func Through(wrap func(net.Listener) net.Listener) Option { return func(o *options) { o.wrap = wrap } }

// Start starts a gateway with the given routes file. It stops at the end of the test, which fails if then anything is
// still in flight or connected.
func Start(t testing.TB, routes string, opts ...Option) *Gateway {
	t.Helper()
	o := options{level: zerolog.DebugLevel}
	for _, opt := range opts {
		opt(&o)
	}
	g := &Gateway{t: t, File: filepath.Join(t.TempDir(), "routes.json"), log: new(lines)}
	if o.log == nil {
		o.log = g.log
	}
	g.write(routes)
	g.Fleet = lb.NewFleet(rand.Uint64)
	g.Upstream = upstream.NewClient(nil)
	g.Metrics = metrics.New("test")
	g.Table = route.NewTable(g.File, route.Options{
		Kinds: o.kinds, Fleet: g.Fleet, Rand: rand.Uint64,
		LookupEnv: func(name string) (string, bool) { v, ok := o.env[name]; return v, ok },
		OnSwap: func(s *route.Snapshot) {
			keep := map[upstream.Addr]bool{}
			for _, a := range s.Addresses() {
				keep[upstream.Addr{Host: a.Host, TLS: a.TLS}] = true
			}
			g.Upstream.Retain(func(a upstream.Addr) bool { return keep[a] })
		},
	})
	g.Reload("")
	var server *tls.Config
	scheme := "http://"
	if o.tls {
		server, g.tls = certificate(t)
		scheme = "https://"
	}
	var err error
	g.Gateway, err = gateway.New(gateway.Config{
		Table: g.Table, Rand: rand.Uint64, Metrics: g.Metrics, Upstream: g.Upstream, Limits: o.limits, TLS: server,
		Log: zerolog.New(o.log).Level(o.level).With().Timestamp().Logger(),
	})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	g.Addr = ln.Addr().String()
	g.URL = scheme + g.Addr
	if o.wrap != nil {
		ln = o.wrap(ln)
	}
	served := make(chan error, 1)
	go func() { served <- g.Serve(ln) }()
	t.Cleanup(func() { g.stop(served) })
	return g
}

func (g *Gateway) stop(served chan error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	// The test has closed its connections by now. A shutdown that still finds one looks again only a tenth of a second later.
	for range 50 {
		if g.Clients() == 0 {
			break
		}
		time.Sleep(time.Millisecond)
	}
	g.Shutdown(ctx, 0)
	if err := <-served; err != nil {
		g.t.Errorf("Serve: %v", err)
	}
	g.Idle()
	g.Upstream.Close()
	if n := g.Upstream.Open(); n != 0 {
		g.t.Errorf("%d connections to upstreams are still open", n)
	}
}

// Idle waits until nothing is in flight, and fails the test if that takes too long.
func (g *Gateway) Idle() {
	g.t.Helper()
	g.Eventually("nothing is in flight", func() bool {
		for _, e := range g.Fleet.Engines() {
			if e.Inflight() != 0 {
				return false
			}
		}
		return g.Active() == 0
	})
}

// Eventually waits for a condition, and fails the test if it does not come true.
func (g *Gateway) Eventually(what string, ok func() bool) {
	g.t.Helper()
	Eventually(g.t, what, ok)
}

// Eventually waits for a condition, and fails the test if it does not come true within 10 s.
func Eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("it did not come true that %s", what)
		}
	}
}

func (g *Gateway) write(routes string) {
	g.t.Helper()
	if err := os.WriteFile(g.File, []byte(routes), 0o600); err != nil {
		g.t.Fatal(err)
	}
}

// Reload writes the routes file, unless routes is empty, and loads it; a file that is refused fails the test.
func (g *Gateway) Reload(routes string) {
	g.t.Helper()
	if routes != "" {
		g.write(routes)
	}
	if _, problems, err := g.Table.Reload(); err != nil {
		g.t.Fatalf("routes file: %v %v", err, problems)
	}
}

// Inflight is the number of requests in flight at the engine of a URL.
func (g *Gateway) Inflight(url string) int64 {
	for _, e := range g.Fleet.Engines() {
		if strings.TrimSuffix(e.URL(), "/") == strings.TrimSuffix(url, "/") {
			return e.Inflight()
		}
	}
	return 0
}

// Answer is what a client got.
type Answer struct {
	Status int
	Header http.Header
	Body   string
	Err    error // the answer broke off
}

// Error returns the member of a body's error object, such as "code" or "type".
func (a Answer) Error(member string) string {
	var v struct {
		Error map[string]any `json:"error"`
	}
	_ = json.Unmarshal([]byte(a.Body), &v)
	s, _ := v.Error[member].(string)
	return s
}

// Post sends a JSON body. Headers are pairs of name and value.
func (g *Gateway) Post(path, body string, headers ...string) Answer {
	g.t.Helper()
	return g.Do(http.MethodPost, path, body, headers...)
}

// Do sends a request over a connection of its own and reads the answer to its end.
func (g *Gateway) Do(method, path, body string, headers ...string) Answer {
	g.t.Helper()
	var r io.Reader
	if body != "" {
		r = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(context.Background(), method, g.URL+path, r)
	if err != nil {
		g.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i] == "Content-Type" {
			req.Header.Set(headers[i], headers[i+1])
		} else {
			req.Header.Add(headers[i], headers[i+1])
		}
	}
	tr := &http.Transport{DisableCompression: true, DisableKeepAlives: true, TLSClientConfig: g.tls}
	defer tr.CloseIdleConnections()
	resp, err := tr.RoundTrip(req)
	if err != nil {
		return Answer{Err: err}
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return Answer{Status: resp.StatusCode, Header: resp.Header, Body: string(b), Err: err}
}

// Dial opens a raw connection to the gateway, over TLS if the gateway speaks it; it is closed at the end of the test.
func (g *Gateway) Dial() net.Conn {
	g.t.Helper()
	c, err := net.Dial("tcp", g.Addr)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { c.Close() })
	if g.tls == nil {
		return c
	}
	t := tls.Client(c, g.tls)
	if err := t.HandshakeContext(g.t.Context()); err != nil {
		g.t.Fatal(err)
	}
	return t
}

// lines collects log lines.
type lines struct {
	mu  sync.Mutex
	all [][]byte
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, bytes.Clone(p))
	return len(p), nil
}

// Log returns all that was logged so far, as text.
func (g *Gateway) Log() string {
	g.log.mu.Lock()
	defer g.log.mu.Unlock()
	return string(bytes.Join(g.log.all, nil))
}

// Requests returns the lines of the access log so far.
func (g *Gateway) Requests() []map[string]any {
	g.log.mu.Lock()
	defer g.log.mu.Unlock()
	var out []map[string]any
	for _, line := range g.log.all {
		var m map[string]any
		if json.Unmarshal(line, &m) == nil && m["message"] == "request" {
			out = append(out, m)
		}
	}
	return out
}

// WaitRequests waits until the access log has n lines and returns them.
func (g *Gateway) WaitRequests(n int) []map[string]any {
	g.t.Helper()
	g.Eventually("the access log has its lines", func() bool { return len(g.Requests()) >= n })
	return g.Requests()
}
