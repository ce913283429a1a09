package upstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/socket"
)

// Conn is a connection to an upstream, for one round trip at a time.
type Conn struct {
	nc      net.Conn       // what is read and written: the TCP connection, or TLS on it
	tcp     net.Conn       // what is closed, so that Abort never waits for TLS to say goodbye
	socket  *socket.Socket // of the TCP connection
	pool    *Pool
	limits  Limits
	aborted atomic.Bool
	shut    atomic.Bool // the socket is closed

	reused    bool // it served a request before this one
	answered  bool // a byte of the answer has come
	keepAlive bool // the answer allows another request
	readBy    time.Time
	writeBy   time.Time
	firstBy   time.Time // when the first byte of the body must be there; zero after it has come, or without a limit
	idleBy    time.Time // when the next byte of it must be there; zero unless somebody waits for it
	idleSince time.Time

	buf  []byte // from the buffer pools while a round trip is on
	r, w int    // unread bytes are buf[r:w]

	framing framing
	left    int64 // of a body with a length
	chunks  dechunker
	done    bool  // the body is complete
	broken  error // what is wrong with the framing behind the piece that was returned last

	one  [1]byte // what quiet reads into
	vec  [6][]byte
	bufs net.Buffers
}

type framing uint8

const (
	byLength framing = iota
	byChunks
	byClose
)

// maxWrite is how much of a request is written under one deadline.
const maxWrite = 1 << 20

// RoundTrip writes a request, given in pieces, and reads the head of the answer into h, skipping 1xx. The method says
// whether the answer has a body. Errors are *Error. An answer that comes although the request could not be written
// to its end (the engine refuses it early) is taken.
func (c *Conn) RoundTrip(method string, h *fasthttp.ResponseHeader, l Limits, request ...[]byte) error {
	c.limits, c.answered, c.done, c.keepAlive = l, false, false, true
	c.chunks, c.broken, c.idleBy = dechunker{}, nil, time.Time{}
	c.takeBuffer()
	if total := lengthOf(request); total <= smallBuffer { // joined it is one plain write, and one record of TLS
		joined := c.buf[:0] // nothing has been read into it yet
		for _, p := range request {
			joined = append(joined, p...)
		}
		c.vec[0] = joined
		request = c.vec[:1]
	}
	sent, heard := c.ask(request)
	c.vec[0] = nil
	if sent != nil {
		c.keepAlive = false
		if isTimeout(sent) || c.aborted.Load() || errors.Is(sent, socket.ErrNotQuiet) {
			return c.fail(Send, sent)
		}
		c.limits.FirstByte = time.Second
		c.expectFirst()
	}
	if heard == nil {
		heard = c.readHead(h)
	}
	switch {
	case heard == nil:
		c.frame(method, h)
		return nil
	case sent != nil:
		return c.fail(Send, sent)
	default:
		return c.fail(Head, heard)
	}
}

// expectFirst starts the time that the first byte of the body may take.
func (c *Conn) expectFirst() {
	c.firstBy = time.Time{}
	if c.limits.FirstByte > 0 {
		c.firstBy = time.Now().Add(c.limits.FirstByte)
	}
}

// ask writes a request. On a connection that was idle it makes sure first that nothing has come, and reads the beginning
// of the answer, all in one go. It tells apart why the request was not sent and why no answer was heard.
func (c *Conn) ask(request [][]byte) (sent, heard error) {
	c.expectFirst()
	if !c.reused || !c.plain() {
		sent = c.send(request)
		c.expectFirst()
		return sent, nil
	}
	if _, err := c.armRead(time.Time{}); err != nil {
		return err, nil
	}
	total := lengthOf(request)
	n, answer, err := c.socket.Ask(request, c.buf)
	switch {
	case n < total && err != nil:
		return err, nil
	case n < total:
		sent = c.send(after(request, n))
		c.expectFirst()
		return sent, nil
	case answer == 0:
		return nil, endOf(err)
	}
	c.answered, c.idleBy, c.w = true, time.Time{}, answer
	return nil, nil
}

// plain reports whether what is read and written is the socket's own.
func (c *Conn) plain() bool { return c.socket != nil && c.nc == c.tcp }

func lengthOf(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// after returns what follows n bytes of some pieces.
func after(pieces [][]byte, n int) [][]byte {
	for n >= len(pieces[0]) {
		n -= len(pieces[0])
		pieces = pieces[1:]
	}
	rest := append([][]byte(nil), pieces...)
	rest[0] = rest[0][n:]
	return rest
}

// send writes a request, however long it takes as long as it goes on.
func (c *Conn) send(request [][]byte) error {
	if len(request) == 1 && len(request[0]) <= maxWrite {
		if err := c.armWrite(); err != nil {
			return err
		}
		_, err := c.nc.Write(request[0])
		return err
	}
	if lengthOf(request) <= maxWrite && len(request) <= len(c.vec) {
		if err := c.armWrite(); err != nil {
			return err
		}
		c.bufs = c.vec[:copy(c.vec[:], request)]
		_, err := c.bufs.WriteTo(c.nc)
		clear(c.vec[:]) // the request must not be kept alive by an idle connection
		return err
	}
	for _, p := range request {
		for len(p) > 0 {
			n := min(len(p), maxWrite)
			if err := c.armWrite(); err != nil {
				return err
			}
			if _, err := c.nc.Write(p[:n]); err != nil {
				return err
			}
			p = p[n:]
		}
	}
	return nil
}

// readHead reads up to the end of a response head that is not 1xx. Its beginning may have been read.
func (c *Conn) readHead(h *fasthttp.ResponseHeader) error {
	for scanned := 0; ; {
		if end := headEnd(c.buf[c.r:c.w], scanned); end > 0 {
			if err := c.pool.client.parse(h, c.buf[c.r:c.r+end]); err != nil {
				return err
			}
			c.r += end
			status := h.StatusCode()
			if status >= 200 {
				return nil
			}
			if status == fasthttp.StatusSwitchingProtocols {
				return ErrUpgrade
			}
			scanned = 0
			continue
		}
		scanned = c.w - c.r
		if c.w == len(c.buf) {
			if err := c.growHead(); err != nil {
				return err
			}
		}
		n, err := c.read(c.buf[c.w:], time.Time{})
		c.w += n
		if n == 0 && err != nil {
			return endOf(err)
		}
	}
}

// endOf says what it means that nothing came any more.
func endOf(err error) error {
	if err == io.EOF {
		return ErrCut
	}
	return err
}

// headEnd returns the length of the head at the start of b, or 0 if it is not complete; the first scanned bytes are
// known to hold no end.
func headEnd(b []byte, scanned int) int {
	from := max(0, scanned-3)
	for {
		i := bytes.IndexByte(b[from:], '\n')
		if i < 0 {
			return 0
		}
		from += i + 1
		switch rest := b[from:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return from + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return from + 2
		}
	}
}

func (c *Conn) growHead() error {
	if c.r > 0 {
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
		return nil
	}
	if len(c.buf) >= MaxHead {
		return ErrHeadTooLarge
	}
	bigger := make([]byte, min(MaxHead, 4*len(c.buf)))
	n := copy(bigger, c.buf[:c.w])
	c.dropBuffer()
	c.buf, c.w = bigger, n
	return nil
}

// frame decides where the body ends (RFC 9112, section 6.3).
func (c *Conn) frame(method string, h *fasthttp.ResponseHeader) {
	c.keepAlive = c.keepAlive && !h.ConnectionClose()
	status, length := h.StatusCode(), h.ContentLength()
	switch {
	case method == fasthttp.MethodHead || status == fasthttp.StatusNoContent || status == fasthttp.StatusNotModified:
		c.framing, c.left = byLength, 0
	case length >= 0:
		c.framing, c.left = byLength, int64(length)
	case length == -1:
		c.framing = byChunks
	default:
		c.framing, c.keepAlive = byClose, false
	}
	c.done = c.framing == byLength && c.left == 0
	if c.r < c.w {
		c.firstBy = time.Time{} // the body has begun
	}
}

// Length is the length of the body that the head announced, or -1.
func (c *Conn) Length() int64 {
	if c.framing == byLength {
		return c.left
	}
	return -1
}

// Buffered reports whether Next would return a piece of the body without waiting. Directly behind the head it is exact,
// but for a first chunk whose size is written with leading zeros: of that it says no.
func (c *Conn) Buffered() bool {
	b := c.buf[c.r:c.w]
	if c.framing != byChunks {
		return len(b) > 0
	}
	line := bytes.IndexByte(b, '\n') // the end of the size; what is behind it is data, unless the chunk is the last
	return line >= 0 && line+1 < len(b) && b[0] != '0'
}

// Complete reports whether Next has returned all of the body.
func (c *Conn) Complete() bool { return c.done }

// ErrNotYet is returned by NextBefore when its time is up.
var ErrNotYet = errors.New("upstream: nothing has come yet")

// Next returns the next piece of the body: all that one read of the connection brought, without framing, valid until
// the next call. At the end it returns io.EOF; any other error is an *Error.
func (c *Conn) Next() ([]byte, error) { return c.NextBefore(time.Time{}) }

// NextBefore is Next that gives up at t with ErrNotYet; nothing is lost then. The zero time is no bound.
func (c *Conn) NextBefore(t time.Time) ([]byte, error) {
	for !c.done {
		if c.broken != nil {
			return nil, c.fail(Body, c.broken)
		}
		if c.r == c.w {
			if err := c.fill(t); err != nil {
				if err == ErrNotYet {
					return nil, err
				}
				return nil, c.fail(Body, err)
			}
			if c.done {
				break
			}
		}
		p, err := c.decode()
		if err != nil {
			return nil, c.fail(Body, err)
		}
		if len(p) > 0 {
			return p, nil
		}
	}
	return nil, io.EOF
}

// decode takes the payload out of what is buffered.
func (c *Conn) decode() ([]byte, error) {
	b := c.buf[c.r:c.w]
	switch c.framing {
	case byChunks:
		n, used, done, err := c.chunks.decode(b)
		c.r, c.done = c.r+used, done
		if err != nil && n > 0 {
			c.broken, err = err, nil // what came before the fault is passed on, the fault is met by the next call
		}
		if err != nil {
			return nil, err
		}
		return b[:n], nil
	case byClose:
		c.r = c.w
		return b, nil
	default:
		n := min(int64(len(b)), c.left)
		c.r, c.left = c.r+int(n), c.left-n
		c.done = c.left == 0
		return b[:n], nil
	}
}

func (c *Conn) fill(t time.Time) error {
	if c.w == len(c.buf) {
		c.enlarge()
	}
	c.r, c.w = 0, 0
	n, err := c.read(c.buf, t)
	c.w = n
	if n > 0 {
		c.firstBy = time.Time{} // from here on the idle limit counts
		return nil
	}
	if err == io.EOF {
		if c.framing == byClose {
			c.done = true
			return nil
		}
	}
	return endOf(err)
}

// enlarge takes a larger buffer for a body that fills the one there is, where there is one.
func (c *Conn) enlarge() {
	switch {
	case len(c.buf) < hugeBuffer && c.framing == byLength && c.left >= hugeBuffer:
		c.dropBuffer()
		c.buf = c.pool.client.huge.Get().(*[hugeBuffer]byte)[:] //nolint:forcetypeassert // the pool holds nothing else
	case len(c.buf) == smallBuffer:
		c.dropBuffer()
		c.buf = c.pool.client.large.Get().(*[largeBuffer]byte)[:] //nolint:forcetypeassert // the pool holds nothing else
	}
}

// read reads once, under the limit of the phase and, if t is set, not beyond t.
func (c *Conn) read(p []byte, t time.Time) (int, error) {
	limit, err := c.armRead(t)
	if err != nil {
		return 0, err
	}
	n, err := c.nc.Read(p)
	if n > 0 {
		c.answered, c.idleBy = true, time.Time{}
		return n, nil
	}
	if err == nil {
		return 0, io.ErrNoProgress
	}
	if !t.IsZero() && isTimeout(err) && (limit.IsZero() || time.Now().Before(limit)) {
		return 0, ErrNotYet
	}
	return 0, err
}

// armRead sets the read deadline for the phase and returns when the phase's own limit ends. Setting a deadline moves a
// timer, so one that lies between the limit and an eighth more is left as it is: a limit is never shorter than it was
// set and may be that much longer.
func (c *Conn) armRead(t time.Time) (limit time.Time, err error) {
	if !c.firstBy.IsZero() {
		limit = withSlack(c.readBy, c.firstBy, c.limits.FirstByte)
	} else if c.limits.Idle > 0 {
		if c.idleBy.IsZero() { // else a wait goes on that was only interrupted
			c.idleBy = time.Now().Add(c.limits.Idle)
		}
		limit = withSlack(c.readBy, c.idleBy, c.limits.Idle)
	}
	by := limit
	if !t.IsZero() && (by.IsZero() || t.Before(by)) {
		by = t
	}
	if by.Equal(c.readBy) {
		return limit, nil
	}
	c.readBy = by
	return limit, c.nc.SetReadDeadline(by)
}

// armWrite does the same for a write of the request.
func (c *Conn) armWrite() error {
	var by time.Time
	if c.limits.Idle > 0 {
		by = withSlack(c.writeBy, time.Now().Add(c.limits.Idle), c.limits.Idle)
	}
	if by.Equal(c.writeBy) {
		return nil
	}
	c.writeBy = by
	return c.nc.SetWriteDeadline(by)
}

// withSlack returns the deadline that is set if it lies in [want, want+limit/8], else the end of that span.
func withSlack(set, want time.Time, limit time.Duration) time.Time {
	latest := want.Add(limit / 8)
	if set.Before(want) || set.After(latest) {
		return latest
	}
	return set
}

func (c *Conn) fail(s Stage, err error) *Error {
	c.keepAlive = false
	if c.aborted.Load() {
		return &Error{Stage: s, Err: ErrAborted}
	}
	return &Error{Stage: s, Err: err, Stale: c.reused && !c.answered && s != Body && !isTimeout(err)}
}

// Release ends the round trip. The connection goes back to its pool if the answer was read to its end and both sides
// may go on; otherwise it is closed. The Conn must not be used afterwards.
func (c *Conn) Release() {
	reusable := c.done && c.keepAlive && c.r == c.w && !c.aborted.Load()
	c.dropBuffer()
	if !reusable {
		c.close()
		return
	}
	c.reused = true
	c.pool.put(c)
}

// quiet reports whether nothing has come on an idle connection: neither its end, nor bytes that nobody has asked for and
// that would pass for the answer to the next request. Of a plain connection that is only found out when it is used: see
// ask.
func (c *Conn) quiet() bool {
	if c.nc == c.tcp {
		return true
	}
	if !c.socket.Silent() {
		return false
	}
	// TLS may have read more than it has handed out: a read that must not wait tells.
	c.readBy = time.Unix(1, 0)
	if c.nc.SetReadDeadline(c.readBy) != nil {
		return false
	}
	_, err := c.nc.Read(c.one[:])
	return isTimeout(err)
}

// Abort closes the connection. It may be called by any goroutine while the round trip is on; whatever waits in it
// returns an *Error with ErrAborted.
func (c *Conn) Abort() {
	c.aborted.Store(true)
	c.close()
}

func (c *Conn) close() {
	if c.shut.CompareAndSwap(false, true) {
		c.pool.client.open.Add(-1)
		_ = c.tcp.Close() // nobody is left to tell
	}
}

func (c *Conn) takeBuffer() {
	if c.buf == nil {
		c.buf = c.pool.client.small.Get().(*[smallBuffer]byte)[:] //nolint:forcetypeassert // the pool holds nothing else
	}
	c.r, c.w = 0, 0
}

func (c *Conn) dropBuffer() {
	switch len(c.buf) {
	case smallBuffer:
		c.pool.client.small.Put((*[smallBuffer]byte)(c.buf))
	case largeBuffer:
		c.pool.client.large.Put((*[largeBuffer]byte)(c.buf))
	case hugeBuffer:
		c.pool.client.huge.Put((*[hugeBuffer]byte)(c.buf))
	}
	c.buf, c.r, c.w = nil, 0, 0
}

func isTimeout(err error) bool {
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return true
	}
	var n net.Error
	return errors.As(err, &n) && n.Timeout()
}
