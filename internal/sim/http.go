package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/http/httputil"
	"strconv"
	"strings"
	"time"
)

// maxHead and maxBody are far beyond what a client sends.
const (
	maxHead = 1 << 20
	maxBody = 1 << 30
)

// errMalformed is wrapped by the errors of a request that is answered with 400 and not served.
var errMalformed = errors.New("malformed request")

func malformed(what string) error { return fmt.Errorf("%w: %s", errMalformed, what) }

// readHead reads and parses a request up to its body.
func (c *conn) readHead(q *Request) error {
	c.head = c.head[:0]
	for start := 0; ; {
		line, err := c.br.ReadSlice('\n')
		c.head = append(c.head, line...)
		if len(c.head) > maxHead {
			return malformed("the head is too large")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil {
			return err
		}
		if blank(c.head[start:]) {
			if start > 0 {
				break
			}
			c.head = c.head[:0] // a blank line before the request line is passed over (RFC 9112, section 2.2)
		}
		start = len(c.head)
	}
	return parseHead(string(c.head), q)
}

func blank(line []byte) bool { return len(line) == 1 || len(line) == 2 && line[0] == '\r' }

// parseHead fills in what the head says; the strings of q share its memory.
func parseHead(head string, q *Request) error {
	line, rest, _ := strings.Cut(head, "\n")
	var ok bool
	q.Method, line, ok = strings.Cut(strings.TrimSuffix(line, "\r"), " ")
	if ok {
		q.Target, q.Proto, ok = strings.Cut(line, " ")
	}
	if !ok || q.Method == "" || q.Target == "" || q.Proto != "HTTP/1.1" && q.Proto != "HTTP/1.0" {
		return malformed("request line")
	}
	q.Header = q.Header[:0]
	for {
		line, rest, _ = strings.Cut(rest, "\n")
		line = strings.TrimSuffix(line, "\r")
		if line == "" {
			return nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || name == "" || strings.ContainsAny(name, " \t") {
			return malformed("header field")
		}
		q.Header = append(q.Header, Field{name, strings.Trim(value, " \t")})
	}
}

// bodyLength returns the length of a request's body, or -1 if it is chunked. An engine that guessed at an ambiguous
// framing would hide that its client sent one, so it is refused.
func bodyLength(q *Request) (int, error) {
	lengths, codings := q.Values("Content-Length"), q.Values("Transfer-Encoding")
	switch {
	case len(codings) == 0 && len(lengths) == 0:
		return 0, nil
	case len(codings) > 0:
		if len(lengths) > 0 || len(codings) > 1 || !strings.EqualFold(codings[0], "chunked") || q.Proto == "HTTP/1.0" {
			return 0, malformed("Transfer-Encoding")
		}
		return -1, nil
	}
	n, err := strconv.ParseUint(lengths[0], 10, 31)
	if err != nil || len(lengths) > 1 || n > maxBody {
		return 0, malformed("Content-Length")
	}
	return int(n), nil
}

// readBody reads a body of n bytes, or a chunked one, up to a limit unless that is negative.
func (c *conn) readBody(q *Request, n, limit int) error {
	if n != 0 && q.names("Expect", "100-continue") && c.br.Buffered() == 0 {
		c.out = append(c.out, "HTTP/1.1 100 Continue\r\n\r\n"...)
		if !c.flush() {
			return io.ErrUnexpectedEOF
		}
	}
	if n < 0 {
		r := httputil.NewChunkedReader(c.br)
		if limit >= 0 {
			r = io.LimitReader(r, int64(limit))
		}
		var err error
		q.Body, err = io.ReadAll(r)
		if err == nil && limit < 0 {
			err = c.readTrailer()
		}
		return err
	}
	if limit >= 0 {
		n = min(n, limit)
	}
	if n == 0 {
		return nil
	}
	if !c.s.off || cap(c.body) < n {
		c.body = make([]byte, n)
	}
	m, err := io.ReadFull(c.br, c.body[:n])
	q.Body = c.body[:m:m]
	return err
}

// readTrailer passes over what stands behind the last chunk, up to the blank line.
func (c *conn) readTrailer() error {
	for {
		line, err := c.br.ReadSlice('\n')
		if err != nil {
			return err
		}
		if blank(line) {
			return nil
		}
	}
}

// request returns an empty request; without a record one is used again and again.
func (c *conn) request() *Request {
	q := c.fresh
	if c.s.off {
		*q = Request{Header: q.Header[:0]}
	} else {
		c.fresh = new(Request)
	}
	q.Conn, q.At = c.id, time.Now()
	return q
}

// reasons are the phrases of the status line; a client does not read them (RFC 9112, section 4).
func reason(status int) string {
	switch {
	case status == 200:
		return "OK"
	case status < 200:
		return "Interim"
	case status < 400:
		return "Other"
	}
	return "Error"
}
