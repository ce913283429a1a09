//go:build linux || darwin

package socket

import (
	"io"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

// Socket is a TCP connection, below its net.Conn. The connection's deadlines hold for it, and closing the connection ends
// its calls; errors are those of net.Conn, without its wrapping. Only one call may be on at a time, and no Read of the
// connection beside it.
type Socket struct {
	raw  syscall.RawConn
	step func(fd uintptr) (done bool) // of Receive or Ask, by what is set below
	look func(fd uintptr)             // of Silent

	buffers *Buffers // Receive: where the buffer is from
	got     *Buffer

	request  [][]byte // Ask
	answer   []byte
	checked  bool // nothing had come before
	one      [1]byte
	sent     int
	received int
	err      error

	fds   [1]unix.PollFd
	ready int
}

// For returns the socket of a connection, or nil if it has none.
func For(c net.Conn) *Socket {
	sc, ok := c.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return nil
	}
	s := &Socket{raw: raw}
	s.step, s.look = s.next, s.poll
	return s
}

// Receive waits until there is something to read, and only then takes a buffer for it, which the caller has to put back.
// An error comes without a buffer.
func (s *Socket) Receive(buffers *Buffers) (buf *Buffer, n int, err error) {
	s.buffers = buffers
	err = s.raw.Read(s.step)
	buf, n = s.got, s.received
	if err == nil {
		err = s.err
	}
	s.buffers, s.got, s.received, s.err = nil, nil, 0, nil
	return buf, n, err
}

// Ask makes sure that nothing has come, writes a request, given in pieces, and reads what comes first of the answer, n
// bytes. It returns early if not all can be written without waiting: sent tells how much was. With ErrNotQuiet nothing
// was; any other error is of the last thing that was tried: of writing if sent is less than the request is long.
func (s *Socket) Ask(request [][]byte, answer []byte) (sent, n int, err error) {
	s.request, s.answer = request, answer
	err = s.raw.Read(s.step)
	sent, n = s.sent, s.received
	if err == nil {
		err = s.err
	}
	s.request, s.answer, s.checked, s.sent, s.received, s.err = nil, nil, false, 0, 0, nil
	return sent, n, err
}

// next is called when there may be something to read, the first time without waiting for that.
func (s *Socket) next(fd uintptr) (done bool) {
	switch {
	case s.buffers != nil:
		return s.fill(int(fd))
	case !s.checked:
		s.checked = true
		return !s.write(int(fd))
	default:
		return s.read(int(fd), s.answer)
	}
}

func (s *Socket) fill(fd int) (done bool) {
	s.got = s.buffers.get()
	done = s.read(fd, s.got[:])
	if s.received == 0 {
		s.buffers.Put(s.got)
		s.got = nil
	}
	return done
}

// write writes the request, if nothing has come. It returns false unless all of it is written.
func (s *Socket) write(fd int) (all bool) {
	if s.read(fd, s.one[:]) {
		s.received, s.err = 0, ErrNotQuiet
		return false
	}
	total := 0
	for _, p := range s.request {
		total += len(p)
	}
	s.sent, s.err = uninterrupted(func() (int, error) {
		if len(s.request) == 1 {
			return unix.Write(fd, s.request[0])
		}
		return unix.Writev(fd, s.request)
	})
	if s.err == unix.EAGAIN {
		s.err = nil
	}
	return s.sent == total
}

// read reads once. It returns false if there is nothing to read yet.
func (s *Socket) read(fd int, p []byte) (done bool) {
	s.received, s.err = uninterrupted(func() (int, error) { return unix.Read(fd, p) })
	switch {
	case s.err == unix.EAGAIN:
		s.err = nil
		return false
	case s.received == 0 && s.err == nil:
		s.err = io.EOF
	}
	return true
}

// uninterrupted makes a system call until no signal comes in between, and does not count bytes below 0.
func uninterrupted(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return max(n, 0), err
		}
	}
}

// Silent reports whether the connection is open and has nothing to read. That of nil always has.
func (s *Socket) Silent() bool {
	return s == nil || s.raw.Control(s.look) == nil && s.ready == 0
}

func (s *Socket) poll(fd uintptr) {
	s.fds[0] = unix.PollFd{Fd: int32(fd), Events: unix.POLLIN}
	var err error
	if s.ready, err = unix.Poll(s.fds[:], 0); err != nil {
		s.ready = -1
	}
}
