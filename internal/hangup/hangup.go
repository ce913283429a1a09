// Package hangup tells when the other end of a connection has gone, at once and without reading from it.
//
// While a handler waits for an upstream nobody looks at the client's socket, so a client that left would keep a GPU
// busy. A read that peeks would have to be started and stopped with every request and sees nothing behind bytes that
// wait to be read; the kernel's own hang-up event costs one registration per connection and nothing per request.
package hangup

import (
	"errors"
	"net"
	"syscall"
)

// Peer is told that the other end of its connection has closed it, reset it, or shut down its sending side. PeerGone
// is called once at the most, from the watcher's goroutine, and must not block.
type Peer interface{ PeerGone() }

// ErrClosed is returned by Watch after Close.
var ErrClosed = errors.New("hangup: the watcher is closed")

// rawConn returns the system's view of a connection, looking through TLS, or nil if it has none.
func rawConn(c net.Conn) syscall.RawConn {
	if t, ok := c.(interface{ NetConn() net.Conn }); ok {
		c = t.NetConn()
	}
	s, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
