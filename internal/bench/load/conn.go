package load

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"time"
)

// patience is how long a client waits for the next bytes of an answer; what takes longer counts as an error.
const patience = 60 * time.Second

// conn is a client's connection that reads answers without making anything of them but what is counted.
type conn struct {
	net.Conn
	buf     []byte
	r, w    int // unread bytes are buf[r:w]
	left    int // of a body with a length, or of a chunk
	chunked bool
	dead    bool      // the answer closes the connection
	text    []byte    // the beginning of an event whose end is still to come
	by      time.Time // the deadline that is set
}

func dial(addr string, buffer int) (*conn, error) {
	c, err := net.Dial("tcp", addr) //nolint:noctx // to loopback
	if err != nil {
		return nil, err
	}
	return &conn{Conn: c, buf: make([]byte, buffer)}, nil
}

var (
	errStatus  = errors.New("load: not status 200")
	errFraming = errors.New("load: the framing is broken")
	errHead    = errors.New("load: a head that is too long")
)

// fill reads more behind what is unread.
func (c *conn) fill() error {
	if c.r == c.w {
		c.r, c.w = 0, 0
	} else if c.w == len(c.buf) {
		if c.r == 0 {
			return errHead
		}
		c.w = copy(c.buf, c.buf[c.r:c.w])
		c.r = 0
	}
	n, err := c.Read(c.buf[c.w:])
	c.w += n
	if n > 0 {
		return nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// head reads the head of an answer.
func (c *conn) head() error {
	var end int
	for {
		if end = bytes.Index(c.buf[c.r:c.w], []byte("\r\n\r\n")); end >= 0 {
			break
		}
		if err := c.fill(); err != nil {
			return err
		}
	}
	head := c.buf[c.r : c.r+end+2]
	c.r += end + 4
	if len(head) < 12 || string(head[9:12]) != "200" {
		return fmt.Errorf("%w: %q", errStatus, head)
	}
	c.left, c.chunked = -1, false
	for len(head) > 0 {
		line, rest, _ := bytes.Cut(head, []byte("\r\n"))
		head = rest
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimSpace(value)
		switch {
		case bytes.EqualFold(name, []byte("content-length")):
			c.left = 0
			for _, d := range value {
				c.left = 10*c.left + int(d-'0')
			}
		case bytes.EqualFold(name, []byte("transfer-encoding")):
			c.chunked, c.left = true, 0
		case bytes.EqualFold(name, []byte("connection")):
			c.dead = bytes.EqualFold(value, []byte("close"))
		}
	}
	if c.left < 0 {
		return fmt.Errorf("%w: no length", errFraming)
	}
	return nil
}

// body reads the rest of an answer and hands out its pieces, without framing.
func (c *conn) body(each func([]byte)) error {
	for {
		if c.chunked && c.left == 0 {
			size, err := c.chunk()
			if err != nil || size == 0 {
				return err
			}
			c.left = size
		}
		if c.left == 0 {
			return nil
		}
		if c.r == c.w {
			if err := c.fill(); err != nil {
				return err
			}
		}
		p := c.buf[c.r:min(c.w, c.r+c.left)]
		c.r, c.left = c.r+len(p), c.left-len(p)
		each(p)
		if c.chunked && c.left == 0 {
			if _, err := c.line(); err != nil {
				return err
			}
		}
		if !c.chunked && c.left == 0 {
			return nil
		}
	}
}

// chunk reads the line before a chunk, and behind the last one the end of the body.
func (c *conn) chunk() (size int, err error) {
	line, err := c.line()
	if err != nil {
		return 0, err
	}
	if len(line) == 0 {
		return 0, errFraming
	}
	for _, d := range line {
		switch {
		case '0' <= d && d <= '9':
			size = size<<4 | int(d-'0')
		case 'a' <= d|0x20 && d|0x20 <= 'f':
			size = size<<4 | int((d|0x20)-'a'+10)
		default:
			return 0, errFraming
		}
	}
	if size == 0 {
		if line, err = c.line(); err == nil && len(line) > 0 {
			err = errFraming
		}
	}
	return size, err
}

// line reads a line of the framing.
func (c *conn) line() ([]byte, error) {
	for {
		if end := bytes.IndexByte(c.buf[c.r:c.w], '\n'); end > 0 {
			line := c.buf[c.r : c.r+end-1]
			c.r += end + 1
			return line, nil
		}
		if err := c.fill(); err != nil {
			return nil, err
		}
	}
}

// events reads the rest of a stream and hands out its events, each with its empty line.
func (c *conn) events(each func([]byte)) error {
	c.text = c.text[:0]
	return c.body(func(p []byte) {
		if len(c.text) > 0 {
			c.text = append(c.text, p...)
			n := split(c.text, each)
			c.text = c.text[:copy(c.text, c.text[n:])]
			return
		}
		if n := split(p, each); n < len(p) {
			c.text = append(c.text, p[n:]...)
		}
	})
}

// split hands out the whole events at the front of a text and returns their length.
func split(text []byte, each func([]byte)) (n int) {
	for {
		end := bytes.Index(text[n:], []byte("\n\n"))
		if end < 0 {
			return n
		}
		each(text[n : n+end+2])
		n += end + 2
	}
}
