package engine

import (
	"bytes"
	"errors"
	"io"
	"net"
)

// request is what the engine wants to know of a request.
type request struct {
	order  Order
	length int  // of the body
	close  bool // the client asks for the end of the connection
}

const (
	headBuffer = 4 << 10  // larger heads are refused: the load generator writes small ones
	bodyBuffer = 64 << 10 // what a body is read through that is still to come
)

var errHead = errors.New("engine: a head that is too long")

// reader reads requests from a connection, one after the other: none is sent before the last one was answered.
type reader struct {
	conn net.Conn
	buf  []byte
	body *bodies
}

// next reads a request and drops its body.
func (r *reader) next() (request, error) {
	have := 0
	for {
		n, err := r.conn.Read(r.buf[have:])
		if n == 0 && err != nil {
			return request{}, err
		}
		have += n
		if end := bytes.Index(r.buf[:have], []byte("\r\n\r\n")); end >= 0 {
			q := parseHead(r.buf[:end+2])
			return q, r.drop(q.length - (have - end - 4))
		}
		if have == len(r.buf) {
			return request{}, errHead
		}
	}
}

// drop reads what is left of a body.
func (r *reader) drop(left int) error {
	if left <= 0 {
		return nil
	}
	b := r.body.take()
	defer r.body.give(b)
	for left > 0 {
		n, err := r.conn.Read(b[:min(left, len(b))])
		if n == 0 && err != nil {
			if err == io.EOF {
				err = io.ErrUnexpectedEOF
			}
			return err
		}
		left -= n
	}
	return nil
}

// parseHead looks at the lines that matter. Names are written in whatever case the proxy likes.
func parseHead(head []byte) request {
	var q request
	for {
		end := bytes.IndexByte(head, '\n')
		if end < 0 {
			return q
		}
		line := head[:end]
		head = head[end+1:]
		if len(line) == 0 || (line[0]|0x20 != 'c' && line[0]|0x20 != 'x') {
			continue
		}
		name, value, found := bytes.Cut(line, []byte(":"))
		if !found {
			continue
		}
		value = bytes.TrimSpace(value)
		switch {
		case is(name, "content-length"):
			for _, c := range value {
				q.length = 10*q.length + int(c-'0')
			}
		case is(name, "connection"):
			q.close = is(value, "close")
		case is(name, "x-bench"):
			q.order = parseOrder(value)
		}
	}
}

// is compares with a word in lower case.
func is(b []byte, word string) bool {
	if len(b) != len(word) {
		return false
	}
	for i, c := range b {
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != word[i] {
			return false
		}
	}
	return true
}
