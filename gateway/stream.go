package gateway

import (
	"bytes"
	"errors"
	"io"
	"net"
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
)

const (
	// maxKept is the largest body of an answer that is kept while others are asked.
	maxKept = 64 << 10
	// maxWhole is the largest answer that is read to its end before its head goes down, so that one that breaks off can
	// still be had from somebody else.
	maxWhole = 1 << 20
	// maxWait is how long the head of an answer of unknown length, to a client that wants no stream, waits for the end of
	// the body.
	maxWait = 2 * time.Second
)

// collect reads the body into x.answer until its end, its limit or the given time (the zero time: none). Complete is
// false if the body goes on.
func (x *exchange) collect(limit int, until time.Time) (complete bool, err error) {
	for !x.up.Complete() {
		if len(x.answer) >= limit {
			return false, nil
		}
		more, err := x.collectOne(until)
		if err != nil || !more {
			return x.up.Complete(), err
		}
	}
	return true, nil
}

// collectOne adds what one read brings to x.answer. More is false at the end of the body, and at the given time.
func (x *exchange) collectOne(until time.Time) (more bool, err error) {
	p, err := x.next(until)
	if err == io.EOF || errors.Is(err, upstream.ErrNotYet) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	x.answer = append(x.answer, p...)
	return true, nil
}

// next reads the next piece of the body, and looks at it as it passes. The piece is valid until the next call.
func (x *exchange) next(until time.Time) ([]byte, error) {
	for {
		p, err := x.up.NextBefore(until)
		if len(p) > 0 {
			x.noteFirst()
			if p = x.follow(p); len(p) == 0 && err == nil {
				continue // it is held back
			}
		}
		if err != nil && !errors.Is(err, upstream.ErrNotYet) {
			if held := x.follower.flush(); len(held) > 0 {
				return held, nil // the next call tells the error again
			}
		}
		return p, err
	}
}

// keep puts an answer aside while others are asked. It returns false if that can't be done, since the answer is too
// long or takes too long: then it stands.
func (x *exchange) keep() (kept bool, err error) {
	x.answer = x.answer[:0]
	return x.keepAs(x.head.StatusCode())
}

// keepAs puts the answer at hand aside as one of a status.
func (x *exchange) keepAs(status int) (kept bool, err error) {
	complete, err := x.collect(maxKept, time.Now().Add(maxWait))
	if err != nil || !complete {
		return false, err
	}
	x.releaseUpstream()
	x.head, x.kept = x.kept, x.head
	x.answer, x.keptBody = x.keptBody[:0], x.answer
	x.isKept, x.keptFrom, x.keptStatus, x.keptFallback = true, x.to, status, x.fallback
	return true, nil
}

// hold reads an answer to its end before anything of it is passed on, if that is what serves the client best: an answer
// that is no stream and not too long.
func (x *exchange) hold() error {
	if eventStream(x.head) {
		return nil
	}
	until := time.Time{}
	if length := x.up.Length(); length > maxWhole {
		return nil
	} else if length < 0 {
		if x.call.Stream() {
			return nil
		}
		until = time.Now().Add(maxWait)
	}
	whole, err := x.collect(maxWhole, until)
	if err != nil {
		return err
	}
	if x.whole = whole; whole {
		x.followWhole()
		x.giveBack()
	}
	return nil
}

// giveBack ends the upstream's part: its answer is complete.
func (x *exchange) giveBack() {
	x.releaseUpstream()
	x.returnLease()
}

func eventStream(h *fasthttp.ResponseHeader) bool {
	const media = "text/event-stream" // in any case (RFC 9110, section 8.3.1)
	ctype := h.ContentType()
	return len(ctype) >= len(media) && bytes.EqualFold(ctype[:len(media)], []byte(media))
}

// commit passes an answer on. From here on nothing is retried, so the request's body is let go.
func (x *exchange) commit() {
	length := -1
	if x.whole {
		length = len(x.answer)
	} else if n := x.up.Length(); n >= 0 && !eventStream(x.head) {
		length = len(x.answer) + int(n)
	}
	x.status = x.head.StatusCode()
	if x.follower.whole && !x.whole {
		x.follower.passes = true
		x.followLong(x.answer)
	}
	x.releaseBody()
	x.writeAnswer(x.head, length)
}

// settle ends a request that nobody served: with the last real answer, if there was one.
func (x *exchange) settle() {
	switch {
	case x.client.left():
		x.outcome = x.client.leaving()
	case x.isKept:
		x.fallback = x.keptFallback
		x.whole, x.answer, x.keptBody = true, x.keptBody, x.answer
		x.to, x.status = x.keptFrom, x.kept.StatusCode()
		x.writeAnswer(x.kept, len(x.answer))
		x.follower.failed = false
		if x.keptStatus >= 500 {
			x.outcome = upstreamError
		}
	case x.lastErr != nil:
		e := noAnswer(x.lastErr, x.route)
		x.fallback = false
		x.outcome, x.status = upstreamError, e.Status
		x.writeError(e)
	case x.refusal != nil:
		x.refuse(x.refusal)
	}
}

// writeAnswer hands an answer to the HTTP server, which reads it through WriteTo after the handler has returned. An event
// stream never has a length (-1), since the server holds back what it knows the end of.
func (x *exchange) writeAnswer(head *fasthttp.ResponseHeader, length int) {
	resp := &x.ctx.Response
	resp.Reset()
	resp.Header.SetNoDefaultContentType(true) // Reset has forgotten it
	resp.Header.SetStatusCode(head.StatusCode())
	resp.Header.SetStatusMessage(head.StatusMessage())
	copyResponseHeaders(&resp.Header, head)
	x.writeIDs(&resp.Header)
	x.outcome = ok
	if x.status >= 500 {
		x.outcome = upstreamError
	}
	x.streaming = true
	if length < 0 && !x.ctx.Request.Header.IsHTTP11() {
		x.writeUnframed(resp)
		return
	}
	// The head goes down at once; if part of the body is there already, both go in one write.
	resp.ImmediateHeaderFlush = !x.whole && (length >= 0 || len(x.answer) == 0 && !x.up.Buffered())
	x.chunked, x.begun = length < 0, resp.ImmediateHeaderFlush
	resp.SetBodyStream(x, length)
}

// writeIDs puts the ids on an answer of an upstream: the client's own id if it gave one, else the upstream's, else ours.
func (x *exchange) writeIDs(h *fasthttp.ResponseHeader) {
	theirs := h.Peek(requestIDHeader)
	if len(theirs) == 0 || saneID(x.ctx.Request.Header.Peek(requestIDHeader)) {
		x.writeID(h)
	}
	if x.route.DebugHeaders {
		h.Set("X-Gpustack-Route-By", x.route.By.String())
		h.Set("X-Gpustack-Target", x.to.Target)
		h.Set("X-Gpustack-Instance", x.to.Instance)
	}
}

// SupportsBodyWriteTo tells the HTTP server that WriteTo writes what Read would read, without its buffer.
func (x *exchange) SupportsBodyWriteTo() bool { return true }

// Read is not used: the HTTP server prefers WriteTo.
func (x *exchange) Read([]byte) (int, error) { return 0, errors.ErrUnsupported }

// errFault ends an answer on a fault of the gateway.
var errFault = errors.New("a fault of the gateway")

// WriteTo passes the answer's body on: what one read of the upstream brings goes down before the next.
func (x *exchange) WriteTo(w io.Writer) (n int64, err error) {
	defer func() {
		if p := recover(); p != nil { // the server would drop the connection, and no line would say why
			x.fault(p, debug.Stack())
			n, err = x.written, errFault
		}
	}()
	if x.ctx.Response.ImmediateHeaderFlush && x.ctx.Response.Header.ContentLength() >= 0 {
		w = x.ctx.Conn() // the server would hold back what does not fill its buffer
	}
	if len(x.answer) > 0 {
		if err := x.pass(w, x.answer); err != nil {
			return x.written, err
		}
	}
	if x.whole {
		x.delivered = true
		return x.written, nil
	}
	x.answer = nil
	for {
		p, err := x.nextOrBeat()
		if err == io.EOF {
			x.delivered = true
			x.followEnd()
			return x.written, nil
		}
		if err != nil {
			x.aborted(err)
			return x.written, err
		}
		if err := x.pass(w, p); err != nil {
			return x.written, err
		}
	}
}

// nextOrBeat returns the next piece of the body, or a heartbeat after a silence if the route wants one.
func (x *exchange) nextOrBeat() ([]byte, error) {
	beat := x.route.Heartbeat
	if beat <= 0 {
		return x.next(time.Time{})
	}
	for {
		p, err := x.next(time.Now().Add(beat))
		if !errors.Is(err, upstream.ErrNotYet) {
			return p, err
		}
		if x.beats() {
			return x.heartbeat(), nil
		}
	}
}

func (x *exchange) pass(w io.Writer, p []byte) error {
	if x.chunked && x.begun && len(p) > serverBuffer-chunkFraming {
		return x.passLarge(p)
	}
	n, err := w.Write(p)
	x.written += int64(n)
	x.begun = true
	return err
}

func (x *exchange) noteFirst() {
	if x.first.IsZero() {
		x.first = time.Now()
	}
}

// aborted notes that an answer broke off. The connection to the client is then cut without an end of the body, which is
// the one sign that no client can miss.
func (x *exchange) aborted(err error) {
	x.health = lb.Neutral
	if x.client.left() { // which is why the upstream's part was ended
		x.outcome = x.client.leaving()
		return
	}
	x.outcome, x.lastErr = upstreamAborted, err
}

// CloseWithError ends the exchange after its answer has been written, or could not be, or was dropped unwritten. The
// HTTP server calls it exactly once; it would call a Close as well.
func (x *exchange) CloseWithError(err error) error {
	if (err != nil || !x.delivered) && !x.outcome.broken() {
		x.outcome = x.client.leaving()
	}
	x.end()
	return nil
}

// writeUnframed writes an answer of unknown length to a client of HTTP/1.0, which knows no chunks: the body ends with
// the connection.
func (x *exchange) writeUnframed(resp *fasthttp.Response) {
	conn := x.ctx.Conn()
	resp.Header.SetConnectionClose()
	resp.Header.Del("Content-Length")
	head := append([]byte(nil), resp.Header.Header()...)
	_, err := conn.Write(head)
	if err == nil {
		resp.ImmediateHeaderFlush = false
		_, err = x.WriteTo(conn)
	}
	switch {
	case err == nil:
	case x.outcome.broken():
		x.client.reset() // the end of the connection would pass for the end of the body
	default:
		x.outcome = x.client.leaving()
	}
	x.streaming = false
	x.ctx.HijackSetNoResponse(true) // all is written: the server has only to close
	x.ctx.Hijack(func(net.Conn) {})
}

// releaseBody lets the request's body go, for the answer may run for half an hour. The buffer goes back to those that
// the HTTP server reads bodies into (which it does since it is told to reduce its memory usage).
func (x *exchange) releaseBody() {
	x.body = nil
	clear(x.pieces)
	x.releaseOut()
	x.call.Release()
	x.ctx.Request.ResetBody()
}
