package load

import (
	"net"
	"time"
)

// Caller is a client with one request, who leaves before the answer is through.
type Caller struct{ conn *conn }

// Call connects and sends a request.
func Call(t Target, r *Request) (*Caller, error) {
	c, err := dial(t.Addr, streamBuffer)
	if err != nil {
		return nil, err
	}
	if err := r.copyFor().send(c); err != nil {
		_ = c.Close()
		return nil, err
	}
	return &Caller{c}, nil
}

// Listen reads once from the answer.
func (c *Caller) Listen() error {
	if err := c.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		return err
	}
	return c.conn.fill()
}

// Leave closes the connection, or resets it, and returns when that was.
func (c *Caller) Leave(reset bool) time.Time {
	if t, ok := c.conn.Conn.(*net.TCPConn); ok && reset {
		_ = t.SetLinger(0) // on a connection that has ended there is nothing to reset
	}
	at := time.Now()
	_ = c.conn.Close() // however that goes, it is gone
	return at
}
