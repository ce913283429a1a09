// Package gateway is the data path: a request comes in, an instance is chosen, the answer goes back as it comes.
//
// request.go tells the story of a request from top to bottom; the other files hold what it calls.
package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/tracing"
	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

// Config is what a gateway is made of.
type Config struct {
	Table *route.Table   // what is routed
	Log   zerolog.Logger // one line a request at info, and what goes wrong inside
	Rand  lb.Rand        // random bits, for request ids

	Metrics *metrics.Metrics
	Tracer  *tracing.Tracer // nil: requests are not traced

	// Upstream holds the connections to the upstreams. The caller closes it after the gateway has stopped.
	Upstream *upstream.Client
	// TLS, if set, is spoken to clients.
	TLS *tls.Config
	// Observe, if set, is told of every request when it has ended. It must not wait.
	Observe func(Ended)

	Limits Limits // zero fields take the value of DefaultLimits
}

// Limits bound what one client may take, whatever the route.
type Limits struct {
	Request time.Duration // for a request to arrive, besides the time that MinRate grants its bytes
	MinRate int64         // bytes per second below which a request is not let grow older than Request
	Idle    time.Duration // between two requests on one connection
	Stall   time.Duration // for one write to a client, where no route says otherwise
	Head    int           // bytes of a request's head
	Clients int           // open client connections
}

// DefaultLimits returns the limits that hold where nothing else is said: a request has 30 s and the time that its bytes
// take at 64 KiB/s; a connection may rest for 2 min; a write may take 30 s; a head has 32 KiB; 65,536 connections.
func DefaultLimits() Limits {
	return Limits{Request: 30 * time.Second, MinRate: 64 << 10, Idle: 2 * time.Minute, Stall: 30 * time.Second, Head: 32 << 10, Clients: 65536}
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits()
	if l.Request == 0 {
		l.Request = d.Request
	}
	if l.MinRate == 0 {
		l.MinRate = d.MinRate
	}
	if l.Idle == 0 {
		l.Idle = d.Idle
	}
	if l.Stall == 0 {
		l.Stall = d.Stall
	}
	if l.Head == 0 {
		l.Head = d.Head
	}
	if l.Clients == 0 {
		l.Clients = d.Clients
	}
	return l
}

// Gateway serves the data path.
type Gateway struct {
	table    *route.Table
	log      zerolog.Logger
	rand     lb.Rand
	metrics  *metrics.Metrics
	tracer   *tracing.Tracer
	upstream *upstream.Client
	tls      *tls.Config
	observer func(Ended)

	server    *fasthttp.Server
	clients   *clients
	exchanges sync.Pool
	decoders  decoders
	heads     sync.Pool // of *outgoing
	chunks    sync.Pool // of *[]byte, in which large pieces are framed
	chains    *chains
	active    atomic.Int64 // requests being served
	draining  atomic.Bool

	mu        sync.Mutex
	listeners []net.Listener // that are served
	stopped   bool           // none is served any more
}

// New makes a gateway. Serve starts it, Shutdown stops it.
func New(c Config) (*Gateway, error) {
	limits := c.Limits.orDefault()
	set, err := newClients(limits)
	if err != nil {
		return nil, err
	}
	g := &Gateway{table: c.Table, log: c.Log, rand: c.Rand, metrics: c.Metrics, tracer: c.Tracer, upstream: c.Upstream, tls: c.TLS, observer: c.Observe, clients: set, chains: newChains()}
	g.exchanges.New = func() any { return newExchange(g) }
	g.heads.New = func() any { return new(outgoing) }
	g.server = &fasthttp.Server{
		Handler:                       g.serve,
		ErrorHandler:                  g.serveBroken,
		ExpectHandler:                 g.expect,
		HeaderReceived:                g.headerReceived,
		ReadTimeout:                   limits.Request,
		IdleTimeout:                   limits.Idle,
		ReadBufferSize:                limits.Head,
		Concurrency:                   2 * limits.Clients, // the listener's own limit is met first, with an answer in JSON
		ReduceMemoryUsage:             true,               // an idle connection holds no buffers
		DisablePreParseMultipartForm:  true,               // forms are forwarded byte for byte
		NoDefaultServerHeader:         true,
		NoDefaultContentType:          true,
		SecureErrorLogMessage:         true,
		CloseOnShutdown:               true,
		LazyRequestTime:               true,
		MaxIdleWorkerDuration:         10 * time.Second,
		Logger:                        quiet{},
		DisableHeaderNamesNormalizing: false,
	}
	return g, nil
}

// quiet drops what the HTTP server logs: every failure of a request has its line in the access log, and these would
// quote what clients sent.
type quiet struct{}

func (quiet) Printf(string, ...any) {}

// Serve serves the connections of a listener until Shutdown, and closes it then; after Shutdown it serves none.
func (g *Gateway) Serve(ln net.Listener) error {
	if !g.listens(ln) {
		return ln.Close()
	}
	clients := &listener{Listener: ln, set: g.clients, log: g.log}
	if ln = clients; g.tls != nil {
		ln = secureListener{ln, g.tls}
	} else {
		clients.crowded = crowded()
	}
	if err := g.server.Serve(ln); err != nil && !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// listens notes that a listener is served, unless the gateway has stopped.
func (g *Gateway) listens(ln net.Listener) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.stopped {
		g.listeners = append(g.listeners, ln)
	}
	return !g.stopped
}

// stopListening ends listening for good and returns what was listened to.
func (g *Gateway) stopListening() []net.Listener {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stopped = true
	return g.listeners
}

// Active is the number of requests that are being served.
func (g *Gateway) Active() int64 { return g.active.Load() }

// Clients is the number of open client connections.
func (g *Gateway) Clients() int { return g.clients.count() }

// Draining reports whether Shutdown has begun: from then on nobody should send new requests here.
func (g *Gateway) Draining() bool { return g.draining.Load() }

// Shutdown stops the gateway without losing an answer: it says that it drains, goes on serving for the grace period so
// that whoever balances over several gateways can notice, stops listening, and waits for the running requests until
// ctx ends; what still runs then is cut off. It returns how many connections were cut.
func (g *Gateway) Shutdown(ctx context.Context, grace time.Duration) (cut int) {
	g.draining.Store(true)
	select {
	case <-time.After(grace):
	case <-ctx.Done():
	}
	listeners := g.stopListening()
	_ = g.server.ShutdownWithContext(ctx) // its only error is that ctx ended, which is seen below
	for _, ln := range listeners {
		_ = ln.Close() // the server closed them, except for one that it was just about to serve
	}
	if cut = g.clients.count(); cut > 0 {
		g.clients.cut()
	}
	g.awaitIdle()
	_ = g.clients.watch.Close()
	return cut
}

// awaitIdle waits, for a short time, until the requests that were cut off have given back what they held.
func (g *Gateway) awaitIdle() {
	for range 200 {
		if g.active.Load() == 0 && g.clients.count() == 0 {
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
}
