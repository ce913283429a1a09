//go:build unix

package upstream

import (
	"net"
	"syscall"
)

// quietly looks at a connection that is idle: nothing may have come on it.
type quietly struct {
	raw   syscall.RawConn // nil if it can't be looked at
	look  func(fd uintptr)
	quiet bool
}

func (q *quietly) watch(tcp net.Conn) {
	s, ok := tcp.(syscall.Conn)
	if !ok {
		return
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return
	}
	q.raw = raw
	var b [1]byte
	q.look = func(fd uintptr) {
		_, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		q.quiet = err == syscall.EAGAIN
	}
}

// still reports whether the other end has neither said anything nor closed.
func (q *quietly) still() bool {
	if q.raw == nil {
		return true
	}
	q.quiet = false
	return q.raw.Control(q.look) == nil && q.quiet
}
