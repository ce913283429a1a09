//go:build unix

package upstream

import (
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// glance looks at a socket without reading from it.
type glance struct {
	raw   syscall.RawConn
	look  func(fd uintptr)
	fds   [1]unix.PollFd
	ready int
	err   error
}

func newGlance(tcp net.Conn) *glance {
	s, ok := tcp.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil
	}
	g := &glance{raw: raw}
	g.look = func(fd uintptr) {
		g.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
		g.ready, g.err = unix.Poll(g.fds[:], 0)
	}
	return g
}

// silent reports whether the socket is open and has nothing to read.
func (g *glance) silent() bool {
	return g == nil || g.raw.Control(g.look) == nil && g.err == nil && g.ready == 0
}
