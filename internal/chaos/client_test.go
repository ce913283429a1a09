package chaos

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"regexp"
	"time"
)

// patience is longer than anything here may take. A client that has waited so long has met a hang.
const patience = 30 * time.Second

// result is what became of a request, as its client saw it.
type result struct {
	sent    bool // to the end
	reached bool // a byte of an answer has come
	left    bool // before the end of the answer, or by giving no sign of life
	reset   bool // leaving threw away what had been sent, so that it may not have been read
	hung    bool
	status  int
	id      string // in the answer
	body    []byte
	err     error // the answer broke off, or none came
}

// client sends requests one after the other, over one connection for as long as that lasts.
type client struct {
	addr     string
	conn     net.Conn
	read     *bufio.Reader
	previous string // a response that it knows
}

var responseID = regexp.MustCompile(`"id":"(resp_[^"]+)"`)

// do sends a request and reads its answer, unless the plan has it leave.
func (c *client) do(q *request) (res result) {
	text, body := q.wire(c.previous)
	if err := c.dial(); err != nil {
		return result{err: err}
	}
	_ = c.conn.SetDeadline(time.Now().Add(patience))
	if q.leaves == uploading {
		_, res.err = io.WriteString(c.conn, text[:min(len(text)-1, body+q.after)])
		return c.leave(q, res)
	}
	_, res.err = io.WriteString(c.conn, text)
	res.sent = res.err == nil // else it may have been answered before it was read
	if q.leaves == waiting && res.sent {
		time.Sleep(q.patient)
		return c.leave(q, res)
	}
	c.receive(q, &res)
	return res
}

func (c *client) dial() (err error) {
	if c.conn == nil {
		if c.conn, err = net.Dial("tcp", c.addr); err == nil {
			c.read = bufio.NewReader(c.conn)
		}
	}
	return err
}

func (c *client) hangUp() {
	if c.conn != nil {
		_ = c.conn.Close()
		c.conn = nil
	}
}

// leave leaves in the way of the plan. Who only shuts down the sending side can read what is still said.
func (c *client) leave(q *request, res result) result {
	defer c.hangUp()
	res.left = true
	tcp := c.conn.(*net.TCPConn)
	switch q.how {
	case byReset:
		res.reset = true
		_ = tcp.SetLinger(0)
	case byShuttingDown:
		_ = tcp.CloseWrite()
		c.receive(&request{leaves: never}, &res)
		res.left = true
	}
	return res
}

// receive reads an answer.
func (c *client) receive(q *request, res *result) {
	resp, err := http.ReadResponse(c.read, nil)
	if err != nil {
		c.broken(res, err)
		return
	}
	defer resp.Body.Close()
	res.reached, res.status, res.id = true, resp.StatusCode, resp.Header.Get("X-Request-Id")
	if q.leaves == stalling {
		_ = c.conn.(*net.TCPConn).SetReadBuffer(4 << 10) // or else the kernel would read on for it
		time.Sleep(2 * stall)
		defer c.hangUp()
	}
	answer := io.Reader(resp.Body)
	if q.leaves == reading || q.leaves == stalling {
		answer = io.LimitReader(answer, int64(q.after))
	}
	if res.body, err = io.ReadAll(answer); err != nil {
		c.broken(res, err)
		return
	}
	if q.leaves == stalling && len(res.body) == q.after {
		res.left = true
		return
	}
	if q.leaves == reading && len(res.body) == q.after {
		c.leaveAnswer(q, res, resp.Body)
		return
	}
	res.err = nil
	if m := responseID.FindSubmatch(res.body); m != nil && res.status == 200 {
		c.previous = string(m[1])
	}
	if resp.Close || !res.sent {
		c.hangUp()
	}
}

func (c *client) leaveAnswer(q *request, res *result, rest io.Reader) {
	defer c.hangUp()
	res.left = true
	tcp := c.conn.(*net.TCPConn)
	switch q.how {
	case byReset:
		_ = tcp.SetLinger(0)
	case byShuttingDown:
		_ = tcp.CloseWrite()
		var more []byte
		more, res.err = io.ReadAll(rest)
		res.body = append(res.body, more...)
	}
}

func (c *client) broken(res *result, err error) {
	res.err = err
	res.hung = errors.Is(err, os.ErrDeadlineExceeded)
	c.hangUp()
}
