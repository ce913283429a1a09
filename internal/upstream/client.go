package upstream

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/socket"
)

// Client holds the connections to all upstreams of a process. Close ends it.
type Client struct {
	tls    *tls.Config
	dialer net.Dialer
	open   atomic.Int64

	mu    sync.RWMutex
	pools map[Addr]*Pool

	small, large, huge sync.Pool // read buffers
	parsers            sync.Pool // of *headParser

	stop, stopped chan struct{}
}

// NewClient starts a client. The TLS configuration is what connections to https upstreams are made with; nil means the
// system's roots.
func NewClient(config *tls.Config) *Client {
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	c := &Client{
		tls:     config,
		pools:   make(map[Addr]*Pool),
		stop:    make(chan struct{}),
		stopped: make(chan struct{}),
	}
	c.small.New = func() any { return new([smallBuffer]byte) }
	c.large.New = func() any { return new([largeBuffer]byte) }
	c.huge.New = func() any { return new([hugeBuffer]byte) }
	c.parsers.New = func() any { return &headParser{buffered: bufio.NewReaderSize(nil, smallBuffer)} }
	go c.sweep()
	return c
}

// Open is the number of connections that are open, in use or idle.
func (c *Client) Open() int64 { return c.open.Load() }

// Pool returns the connections to an address.
func (c *Client) Pool(a Addr) *Pool {
	c.mu.RLock()
	p := c.pools[a]
	c.mu.RUnlock()
	if p != nil {
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p = c.pools[a]; p == nil {
		p = &Pool{client: c, addr: a}
		c.pools[a] = p
	}
	return p
}

// Retain closes the idle connections to every address for which keep is false, and those in use once their round trip
// has ended. It is called after a reload.
func (c *Client) Retain(keep func(Addr) bool) {
	c.mu.Lock()
	var gone []*Pool
	for a, p := range c.pools {
		if !keep(a) {
			gone = append(gone, p)
			delete(c.pools, a)
		}
	}
	c.mu.Unlock()
	for _, p := range gone {
		p.retire()
	}
}

// Close closes the idle connections and ends the client's goroutine.
func (c *Client) Close() {
	c.Retain(func(Addr) bool { return false })
	close(c.stop)
	<-c.stopped
}

// sweep closes connections that have been idle too long.
func (c *Client) sweep() {
	defer close(c.stopped)
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case now := <-tick.C:
			c.mu.RLock()
			pools := make([]*Pool, 0, len(c.pools))
			for _, p := range c.pools {
				pools = append(pools, p)
			}
			c.mu.RUnlock()
			for _, p := range pools {
				p.expire(now.Add(-IdleConn))
			}
		}
	}
}

// headParser reads a response head that is complete in memory.
type headParser struct {
	bytes    bytes.Reader
	buffered *bufio.Reader
}

func (c *Client) parse(h *fasthttp.ResponseHeader, head []byte) error {
	p := c.parsers.Get().(*headParser) //nolint:forcetypeassert // the pool holds nothing else
	p.bytes.Reset(head)
	b := p.buffered
	if len(head) > b.Size() {
		b = bufio.NewReaderSize(nil, len(head))
	}
	b.Reset(&p.bytes)
	err := h.Read(b)
	p.bytes.Reset(nil)
	c.parsers.Put(p)
	if err != nil {
		return fmt.Errorf("the head of the answer is malformed: %w", err)
	}
	return nil
}

// Pool is the connections to one address.
type Pool struct {
	client *Client
	addr   Addr

	mu      sync.Mutex
	idle    []*Conn // the one used last at the end
	retired bool
}

// Idle returns a connection that has nothing to do; nil if there is none. Of one that speaks TLS it is known that it is
// open and has brought nothing since it was used last; of others RoundTrip makes sure, and fails with a stale *Error if
// not.
func (p *Pool) Idle() *Conn {
	since := time.Now().Add(-IdleConn)
	for {
		c := p.take(since)
		if c == nil || c.quiet() {
			return c
		}
		c.close()
	}
}

// Dial makes a connection, TLS included, within the given time (0 is no limit). It returns early when ctx ends. Errors are
// *Error of stage Dial.
func (p *Pool) Dial(ctx context.Context, connect time.Duration) (*Conn, error) {
	if connect > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, connect)
		defer cancel()
	}
	c, err := p.dial(ctx)
	if err != nil {
		return nil, &Error{Stage: Dial, Err: err}
	}
	return c, nil
}

func (p *Pool) dial(ctx context.Context) (*Conn, error) {
	tcp, err := p.client.dialer.DialContext(ctx, "tcp", p.addr.Host)
	if err != nil {
		return nil, err
	}
	c := &Conn{nc: tcp, tcp: tcp, pool: p, socket: socket.For(tcp)}
	if p.addr.TLS {
		config := p.client.tls.Clone()
		config.NextProtos = []string{"http/1.1"}
		if config.ServerName == "" {
			if config.ServerName, _, err = net.SplitHostPort(p.addr.Host); err != nil {
				_ = tcp.Close()
				return nil, err
			}
		}
		t := tls.Client(tcp, config)
		if err := t.HandshakeContext(ctx); err != nil {
			_ = tcp.Close()
			return nil, fmt.Errorf("TLS: %w", err)
		}
		c.nc = t
	}
	p.client.open.Add(1)
	return c, nil
}

// take returns the connection used last, unless that was before the given time: then none is young enough.
func (p *Pool) take(since time.Time) *Conn {
	p.mu.Lock()
	defer p.mu.Unlock()
	last := len(p.idle) - 1
	if last < 0 || p.idle[last].idleSince.Before(since) {
		return nil
	}
	c := p.idle[last]
	p.idle[last] = nil
	p.idle = p.idle[:last]
	return c
}

func (p *Pool) put(c *Conn) {
	c.idleSince = time.Now()
	p.mu.Lock()
	retired := p.retired
	if !retired {
		p.idle = append(p.idle, c)
	}
	p.mu.Unlock()
	if retired {
		c.close()
	}
}

// expire closes the connections that have been idle since before the given time.
func (p *Pool) expire(since time.Time) {
	p.mu.Lock()
	n := 0
	for n < len(p.idle) && p.idle[n].idleSince.Before(since) {
		n++
	}
	old := append([]*Conn(nil), p.idle[:n]...)
	kept := copy(p.idle, p.idle[n:])
	clear(p.idle[kept:])
	p.idle = p.idle[:kept]
	p.mu.Unlock()
	for _, c := range old {
		c.close()
	}
}

func (p *Pool) retire() {
	p.mu.Lock()
	p.retired = true
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, c := range idle {
		c.close()
	}
}
