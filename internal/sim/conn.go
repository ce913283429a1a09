package sim

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"
)

// conn is one connection. Its goroutine reads a request, answers it and reads the next; while it waits in an answer it
// waits in a read of the socket, so that it notices at once that the client has gone.
type conn struct {
	s    *server
	nc   net.Conn
	id   int
	br   *bufio.Reader
	idle atomic.Bool   // between two requests
	shut atomic.Bool   // closed by this side
	turn atomic.Uint64 // odd while a request is on: see Busy
	gone bool          // closed by the other side

	served  int // requests received
	status  int // sent for this request, 0: none
	head    []byte
	body    []byte // reused when no record is kept
	out     []byte // not sent yet
	script  script
	members members
	words   []string // of the answer
	chunk   []byte   // what every chunk of it begins with
	fresh   *Request // for the next request

	split int  // bytes that one write takes, 0: any
	left  int  // bytes that may still be sent, -1: any
	timed bool // reads end at some time
}

func newConn(s *server, nc net.Conn, id int) *conn {
	return &conn{s: s, nc: nc, id: id, br: bufio.NewReader(nc), left: -1, fresh: new(Request)}
}

func (c *conn) close() {
	if c.shut.CompareAndSwap(false, true) {
		_ = c.nc.Close() // nobody is left to tell
	}
}

// reset closes with RST.
func (c *conn) reset() {
	if t, ok := c.nc.(*net.TCPConn); ok {
		_ = t.SetLinger(0) // on a connection that is closed there is nothing to reset
	}
	c.close()
}

// linger closes a connection on which bytes of a request are still coming: closed at once it would be reset, and the
// answer lost with it.
func (c *conn) linger() {
	if t, ok := c.nc.(*net.TCPConn); ok {
		_ = t.CloseWrite()                                     // on a closed connection the read says so
		_ = t.SetReadDeadline(time.Now().Add(2 * time.Second)) // the same
		_, _ = io.Copy(io.Discard, c.br)                       // whatever ends it
	}
}

// lost notes why the connection cannot be used any more.
func (c *conn) lost() {
	if !c.shut.Load() {
		c.gone = true
	}
}

// next waits for the first byte of a request. A limit of 0 is none.
func (c *conn) next(limit time.Duration) bool {
	c.idle.Store(true)
	defer c.idle.Store(false)
	if c.s.refusing.Load() { // it was not idle when the idle ones were closed
		return false
	}
	if limit > 0 {
		_ = c.nc.SetReadDeadline(time.Now().Add(limit)) // on a closed connection the read says so
		defer func() { _ = c.nc.SetReadDeadline(time.Time{}) }()
	}
	_, err := c.br.Peek(1)
	return err == nil
}

// wait lets the time pass up to a moment and reports whether the client is still there. The zero time never comes.
func (c *conn) wait(until time.Time) bool {
	if !until.IsZero() && !time.Now().Before(until) {
		return true
	}
	_ = c.nc.SetReadDeadline(until) // on a closed connection the read says so
	c.timed = !until.IsZero()
	for {
		// Bytes that come meanwhile are of the next request, or of a body that nobody reads.
		n := c.br.Buffered()
		if n == c.br.Size() {
			return c.sleep(until)
		}
		_, err := c.br.Peek(n + 1)
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			return true
		default:
			c.lost()
			return false
		}
	}
}

// untimed ends the time limit of wait for the reads that follow.
func (c *conn) untimed() {
	if c.timed {
		c.timed = false
		_ = c.nc.SetReadDeadline(time.Time{}) // on a closed connection the read says so
	}
}

// sleep waits without looking at the socket, which has brought more than can be put aside.
func (c *conn) sleep(until time.Time) bool {
	for !c.shut.Load() && (until.IsZero() || time.Now().Before(until)) {
		time.Sleep(10 * time.Millisecond)
	}
	return !c.shut.Load()
}

// flush sends what is in out, as the behaviour wants it split, and not more than may be sent. It reports whether all
// of it went out.
func (c *conn) flush() bool {
	p, cut := c.out, false
	c.out = c.out[:0]
	if c.left >= 0 && len(p) > c.left {
		p, cut = p[:c.left], true
	}
	for len(p) > 0 {
		n := len(p)
		if c.split > 0 {
			n = min(n, c.split)
		}
		if _, err := c.nc.Write(p[:n]); err != nil {
			c.lost()
			return false
		}
		if c.left > 0 {
			c.left -= n
		}
		p = p[n:]
	}
	return !cut
}
