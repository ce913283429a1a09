package sim

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// play sends the script as the behaviour has it. It reports whether all of it was sent, and whether the connection may
// be used for another request.
func (c *conn) play(q *Request, b *Behaviour) (through, reusable bool) {
	s := &c.script
	start := time.Now()
	c.split, c.left = b.SplitWrites, -1
	if b.Fault.Kind == ResetAfterBytes || b.Fault.Kind == CloseAfterBytes {
		c.left = b.Fault.After
	}
	if !c.wait(start.Add(b.HeadDelay)) {
		return false, false
	}
	if b.Interim != 0 {
		c.out = appendStatus(c.out, b.Interim)
		c.out = append(c.out, "\r\n"...)
		if !c.flush() {
			c.fail(b)
			return false, false
		}
	}
	pace := pace{start: start.Add(b.HeadDelay), first: b.FirstToken, between: b.BetweenTokens}
	if !s.stream && !c.wait(pace.after(s.tokens)) {
		return false, false
	}
	if b.Fault.Kind == ResetBeforeHead || b.Fault.Kind == CloseBeforeHead {
		c.fail(b)
		return false, false
	}
	if b.Encoding == Gzip || b.Encoding == GzipIfAccepted && q.names("Accept-Encoding", "gzip") {
		s.encode()
	}
	f := c.frame(q, b)
	c.status = s.status
	c.out = s.appendHead(c.out, b, f)
	if q.Method == http.MethodHead {
		c.over()
		return c.flush(), f.keep
	}
	return c.playBody(b, f, &pace)
}

// framed is how a body is sent.
type framed struct {
	by   Framing // never Usual
	keep bool    // the connection stays open
}

func (c *conn) frame(q *Request, b *Behaviour) framed {
	f := framed{by: b.Framing, keep: true}
	if f.by == Usual {
		f.by = ContentLength
		if c.script.stream {
			f.by = Chunked
		}
	}
	if b.Fault.Kind == ShortBody {
		f.by = ContentLength
	}
	if f.by == Chunked && q.Proto == "HTTP/1.0" {
		f.by = CloseDelimited
	}
	if f.by == CloseDelimited || q.Proto == "HTTP/1.0" || q.names("Connection", "close") || b.Fault.Kind == AnswerEarly {
		f.keep = false
	}
	return f
}

func (c *conn) playBody(b *Behaviour, f framed, pace *pace) (through, reusable bool) {
	s := &c.script
	last, whole := s.cut(b.Fault)
	if s.stream && !c.flush() { // a stream's head goes out before there is anything to say
		c.fail(b)
		return false, false
	}
	for i := range last {
		if s.stream && !c.wait(pace.next(s.pieces[i].pause)) {
			return false, false
		}
		c.out = f.append(c.out, s.piece(i))
		if whole && i == last-1 && f.by == ContentLength {
			c.over()
		}
		if s.stream && !c.flush() {
			c.fail(b)
			return false, false
		}
	}
	if whole && f.by == Chunked {
		c.out = append(c.out, "0\r\n\r\n"...)
	}
	if whole && f.by != CloseDelimited { // else it is over when the connection is closed
		c.over()
	}
	if !c.flush() || !whole {
		c.fail(b)
		return false, false
	}
	return true, f.keep && !closes(b.ExtraHeader)
}

// cut returns how many pieces are sent, and whether the body ends well after them.
func (s *script) cut(f Fault) (pieces int, whole bool) {
	switch f.Kind {
	case ResetAfterHead, HeadThenSilence:
		return 0, false
	case ResetAfterEvents, CloseAfterEvents, SilentAfterEvents:
		return min(f.After, len(s.pieces)), false
	case ShortBody:
		s.pieces = append(s.pieces[:0], piece{min(f.After, len(s.buf)), atOnce})
		return 1, false
	}
	return len(s.pieces), true
}

// fail does what the fault is about, once its time has come. The connection is spent then.
func (c *conn) fail(b *Behaviour) {
	if c.gone {
		return
	}
	switch b.Fault.Kind {
	case ResetBeforeHead, ResetAfterHead, ResetAfterEvents, ResetAfterBytes, ResetReused, ResetRequest:
		c.reset()
	case Silent, HeadThenSilence, SilentAfterEvents:
		c.wait(time.Time{})
	default:
		c.close()
	}
}

func closes(fields []Field) bool {
	q := Request{Header: fields}
	return q.names("Connection", "close")
}

func appendStatus(dst []byte, status int) []byte {
	dst = append(dst, "HTTP/1.1 "...)
	dst = strconv.AppendInt(dst, int64(status), 10)
	dst = append(dst, ' ')
	dst = append(dst, reason(status)...)
	return append(dst, "\r\n"...)
}

func (s *script) appendHead(dst []byte, b *Behaviour, f framed) []byte {
	dst = appendStatus(dst, s.status)
	dst = appendField(dst, "Server", "sim")
	if s.ctype != "" {
		dst = appendField(dst, "Content-Type", s.ctype)
	}
	for _, h := range s.fields {
		dst = appendField(dst, h.Name, h.Value)
	}
	for _, h := range b.ExtraHeader {
		dst = appendField(dst, h.Name, h.Value)
	}
	switch {
	case s.status == 204 || s.status == 304:
	case f.by == ContentLength:
		dst = append(dst, "Content-Length: "...)
		dst = strconv.AppendInt(dst, int64(len(s.buf)), 10)
		dst = append(dst, "\r\n"...)
	case f.by == Chunked:
		dst = appendField(dst, "Transfer-Encoding", "chunked")
	}
	if !f.keep && !closes(b.ExtraHeader) {
		dst = appendField(dst, "Connection", "close")
	}
	return append(dst, "\r\n"...)
}

func appendField(dst []byte, name, value string) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

func (f framed) append(dst, piece []byte) []byte {
	if f.by != Chunked {
		return append(dst, piece...)
	}
	dst = strconv.AppendInt(dst, int64(len(piece)), 16)
	dst = append(dst, "\r\n"...)
	dst = append(dst, piece...)
	return append(dst, "\r\n"...)
}

// encode compresses the body and says so.
func (s *script) encode() {
	s.compress()
	s.fields = append(s.fields, Field{"Content-Encoding", "gzip"}, Field{"Vary", "Accept-Encoding"})
}

// pace is the schedule of an answer's words.
type pace struct {
	start          time.Time
	first, between time.Duration
	words          int // that are due after the first
}

// next returns when the next piece is due.
func (p *pace) next(a pause) time.Time {
	switch a {
	case firstToken:
		p.words = 0
	case betweenToken:
		p.words++
	default:
		return p.start // long past
	}
	return p.due()
}

func (p *pace) due() time.Time { return p.start.Add(p.first + time.Duration(p.words)*p.between) }

// after returns when an answer of n words is due as a whole.
func (p *pace) after(n int) time.Time {
	p.words = max(0, n-1)
	return p.due()
}

// isEventStream reports whether a media type is that of server-sent events.
func isEventStream(ctype string) bool {
	ctype, _, _ = strings.Cut(ctype, ";")
	return strings.EqualFold(strings.TrimSpace(ctype), "text/event-stream")
}
