//go:build unix

package sim

import (
	"net"
	"syscall"
)

// hungUp reports whether the other end has closed a connection. It reads nothing, and may be asked while somebody else
// waits in a read.
func hungUp(nc net.Conn) (gone bool) {
	s, ok := nc.(syscall.Conn)
	if !ok {
		return false
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return true
	}
	var b [1]byte
	err = raw.Control(func(fd uintptr) {
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		gone = err == nil && n == 0 || err != nil && err != syscall.EAGAIN && err != syscall.EINTR
	})
	return gone || err != nil
}
