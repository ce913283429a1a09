package gateway

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/socket"
	"github.com/gpustack/gpustack-gateway/internal/upstream"
)

// client is a client's connection: what is being done for it, and the limits on a peer that is slow to send or to read.
// It serves one request at a time.
type client struct {
	net.Conn
	set   *clients
	token uint64 // of the hang-up watch

	limits Limits
	stall  time.Duration // of the route that is being served: how long one write may take; noStall, or 0 without a route

	// How long a request may take to arrive. Used by the goroutine that reads only.
	readBy   time.Time // the deadline that was asked for
	armedBy  time.Time // the deadline that is set
	received int64     // bytes since it was asked for
	start    [64]byte  // how the request began, for what is told about one that can't be read
	started  int       // how much of it is known
	secure   bool      // what Read brings is not what was said, but TLS

	// What was read beyond the one byte that was asked for. Used by the goroutine that reads only.
	socket     *socket.Socket
	ahead      *socket.Buffer
	aheadBytes []byte // the part of it that nobody has had yet

	writeBy time.Time // the write deadline that is set

	mu      sync.Mutex
	gone    bool            // the client has left, or the gateway cuts it off
	cutOff  bool            // it is the latter
	up      *upstream.Conn  // the round trip that is on for it
	ctx     context.Context //nolint:containedctx // made when a request has to wait for something, ended with the request
	cancel  context.CancelFunc
	closing sync.Once
	unread  atomic.Bool // the client may still be sending what nobody will read
}

// lingering is how long a client may go on sending after it was told that its request will not be read.
const lingering = 5 * time.Second

// noStall is the stall limit of a route that wants none.
const noStall = -1

// lastWrite is how long what is still being written to a client may take after it has left.
const lastWrite = time.Second

// PeerGone ends whatever is being done for a client that has left.
func (c *client) PeerGone() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.gone = true
	// One that has shut down its sending side and does not read would hold up a write for as long as any slow client.
	_ = c.Conn.SetWriteDeadline(time.Now().Add(lastWrite)) // on a closed connection the write says so
	if c.up != nil {
		c.up.Abort()
	}
	if c.cancel != nil {
		c.cancel()
	}
}

// cut ends the connection of a client, with whatever is being done for it, because the gateway stops.
func (c *client) cut() {
	c.mu.Lock()
	c.cutOff = !c.gone
	c.mu.Unlock()
	c.PeerGone()
	_ = c.Conn.Close() // the server that reads from it closes the rest
}

// leaving is how a request ends whose client has gone.
func (c *client) leaving() Outcome {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cutOff {
		return shutDown
	}
	return clientClosed
}

// left reports whether the client has gone.
func (c *client) left() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.gone
}

// attach makes up the round trip that ends when the client leaves. It returns false if the client has already left.
func (c *client) attach(up *upstream.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.gone {
		return false
	}
	c.up = up
	return true
}

// detach ends that: from here on the client's leaving does not touch the upstream's connection.
func (c *client) detach() {
	c.mu.Lock()
	c.up = nil
	c.mu.Unlock()
}

// context returns a context that ends when the client leaves or the request is over.
func (c *client) context() context.Context {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx == nil {
		c.ctx, c.cancel = context.WithCancel(context.Background())
		if c.gone {
			c.cancel()
		}
	}
	return c.ctx
}

// release forgets the request that was being served.
func (c *client) release() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.up, c.stall = nil, 0
	if c.cancel != nil {
		c.cancel()
		c.ctx, c.cancel = nil, nil
	}
}

// SetReadDeadline is how the HTTP server says that a request may take until t to arrive. The time grows with what
// arrives: see Read.
func (c *client) SetReadDeadline(t time.Time) error {
	c.readBy, c.armedBy, c.received, c.started = t, t, 0, 0
	return c.Conn.SetReadDeadline(t)
}

// Read gives a request the time that its bytes take at Limits.MinRate, beyond the time that any request has. A peer that
// drips bytes gains next to nothing by it; a large upload over a slow line gets what it needs.
func (c *client) Read(p []byte) (int, error) {
	if earned := time.Duration(c.received) * time.Second / time.Duration(c.limits.MinRate); !c.readBy.IsZero() {
		if by := c.readBy.Add(earned); by.Sub(c.armedBy) > time.Second {
			c.armedBy = by
			if err := c.Conn.SetReadDeadline(by); err != nil {
				return 0, err
			}
		}
	}
	n, err := c.read(p)
	c.received += int64(n)
	if !c.secure {
		c.note(p[:n])
	}
	return n, err
}

// read reads once. To wait for a request, the HTTP server asks for a single byte, since it holds no buffer meanwhile. What
// has come with that byte is read with it, into a buffer that is taken only then.
func (c *client) read(p []byte) (int, error) {
	if c.ahead == nil {
		if len(p) != 1 || c.socket == nil {
			return c.Conn.Read(p)
		}
		buf, n, err := c.socket.Receive(&c.set.buffers)
		if err != nil {
			return 0, err
		}
		c.ahead, c.aheadBytes = buf, buf[:n]
	}
	n := copy(p, c.aheadBytes)
	if c.aheadBytes = c.aheadBytes[n:]; len(c.aheadBytes) == 0 {
		c.set.buffers.Put(c.ahead)
		c.ahead, c.aheadBytes = nil, nil
	}
	return n, nil
}

// note keeps how the request begins.
func (c *client) note(p []byte) {
	if c.started < len(c.start) {
		c.started += copy(c.start[c.started:], p)
	}
}

// Write bounds each write by the stall limit of the route, so that a client that stops reading is let go. As with the
// limits of upstreams, a deadline between the limit and an eighth more is left as it is.
func (c *client) Write(p []byte) (int, error) {
	stall := c.stall
	if stall == 0 {
		stall = c.limits.Stall
	}
	now := time.Now()
	if stall == noStall {
		if !c.writeBy.IsZero() {
			if err := c.writeUntil(time.Time{}); err != nil {
				return 0, err
			}
		}
	} else if c.writeBy.Before(now.Add(stall)) || c.writeBy.After(now.Add(stall+stall/8)) {
		if err := c.writeUntil(now.Add(stall + stall/8)); err != nil {
			return 0, err
		}
	}
	return c.Conn.Write(p)
}

// writeUntil sets the write deadline, unless the client has left and has one that ends sooner.
func (c *client) writeUntil(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.writeBy = t
	if c.gone {
		return nil
	}
	return c.Conn.SetWriteDeadline(t)
}

// reset ends the connection in a way that no peer takes for the end of what it reads, not by TLS's goodbye either.
func (c *client) reset() {
	if t, ok := c.Conn.(interface{ SetLinger(seconds int) error }); ok {
		_ = t.SetLinger(0) // on a connection that is closed there is nothing to reset
	}
	_ = c.Close() // the HTTP server's own close comes to nothing
}

// Close closes the connection once and takes it off the books.
func (c *client) Close() error {
	err := net.ErrClosed
	c.closing.Do(func() {
		if c.unread.Load() {
			c.linger()
		}
		c.set.remove(c)
		err = c.Conn.Close()
	})
	return err
}

// linger lets a client read its answer while it is still sending: a socket that is closed with bytes unread is reset, and
// the answer is lost with it (RFC 9112, section 9.6).
func (c *client) linger() {
	half, ok := c.Conn.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil || c.Conn.SetReadDeadline(time.Now().Add(lingering)) != nil {
		return // it is gone already
	}
	_, _ = io.Copy(io.Discard, c.Conn) // whatever ends it
}

// NetConn lets the hang-up watch find the socket.
func (c *client) NetConn() net.Conn { return c.Conn }

// secured is a client that speaks TLS.
type secured struct {
	*tls.Conn
	client *client
}

func (s *secured) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	s.client.note(p[:n])
	return n, err
}

// clientOf returns the client behind what the HTTP server calls its connection.
func clientOf(c net.Conn) *client {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		if cl, ok := t.NetConn().(*client); ok { // TLS over a client
			return cl
		}
	}
	cl, _ := c.(*client)
	return cl
}
