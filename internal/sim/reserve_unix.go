//go:build unix

package sim

import (
	"net"
	"os"
	"syscall"
)

// reservation keeps a port that is not listened on, so that connections to it are refused and nobody else gets it.
type reservation struct {
	fd   int
	addr *net.TCPAddr
}

func reserve(addr *net.TCPAddr) (*reservation, error) {
	var family int
	var sa syscall.Sockaddr
	if ip := addr.IP.To4(); ip != nil {
		family, sa = syscall.AF_INET, &syscall.SockaddrInet4{Port: addr.Port, Addr: [4]byte(ip)}
	} else {
		family = syscall.AF_INET6
		six := &syscall.SockaddrInet6{Port: addr.Port}
		copy(six.Addr[:], addr.IP)
		sa = six
	}
	fd, err := syscall.Socket(family, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	syscall.CloseOnExec(fd)
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		err = os.NewSyscallError("bind", syscall.Bind(fd, sa))
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return &reservation{fd: fd, addr: addr}, nil
}

// listen opens the port again and ends the reservation.
func (r *reservation) listen() (net.Listener, error) {
	if err := syscall.Listen(r.fd, syscall.SOMAXCONN); err != nil {
		r.release()
		return nil, os.NewSyscallError("listen", err)
	}
	f := os.NewFile(uintptr(r.fd), "sim")
	defer func() { _ = f.Close() }() // the listener has a descriptor of its own
	return net.FileListener(f)
}

func (r *reservation) release() { _ = syscall.Close(r.fd) }
