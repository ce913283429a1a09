package sim

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// server accepts connections and can stop doing so: what an Engine and a Decision have in common.
type server struct {
	*record
	addr  *net.TCPAddr
	serve func(*conn)

	refusing atomic.Bool

	mu       sync.Mutex
	ln       net.Listener // nil: refusing, or closed
	reserved *reservation // while refusing
	conns    map[*conn]struct{}
	accepted int
	closed   bool
	running  sync.WaitGroup
}

func newServer(addr string, noRecord bool, serve func(*conn)) (*server, error) {
	at, err := net.ResolveTCPAddr("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	ln, err := net.ListenTCP("tcp", at)
	if err != nil {
		return nil, fmt.Errorf("sim: %w", err)
	}
	at, ok := ln.Addr().(*net.TCPAddr)
	if !ok {
		return nil, fmt.Errorf("sim: %v is no TCP address", ln.Addr())
	}
	s := &server{
		record: newRecord(noRecord), addr: at,
		serve: serve, conns: make(map[*conn]struct{}),
	}
	s.listen(ln)
	return s, nil
}

// Addr returns the address that is listened on, host:port.
func (s *server) Addr() string { return s.addr.String() }

// Open returns the number of open connections.
func (s *server) Open() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.conns)
}

// Reset resets every open connection, as the death of a process does.
func (s *server) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		c.reset()
	}
}

// Close stops listening, closes every connection and waits until nothing of it runs any more.
func (s *server) Close() {
	s.mu.Lock()
	s.closed = true
	if s.ln != nil {
		_ = s.ln.Close()
		s.ln = nil
	}
	if s.reserved != nil {
		s.reserved.release()
		s.reserved = nil
	}
	for c := range s.conns {
		c.close()
	}
	s.mu.Unlock()
	s.stop()
	s.running.Wait()
}

// refuse stops or resumes listening.
func (s *server) refuse(refuse bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed || refuse == (s.ln == nil):
		return nil
	case refuse:
		s.refusing.Store(true)
		_ = s.ln.Close()
		s.ln = nil
		var err error
		if s.reserved, err = reserve(s.addr); err != nil {
			return fmt.Errorf("sim: keep the port: %w", err)
		}
		for c := range s.conns {
			if c.idle.Load() {
				c.close()
			}
		}
		return nil
	}
	if s.reserved == nil {
		return errors.New("sim: the port was lost")
	}
	ln, err := s.reserved.listen()
	s.reserved = nil
	if err != nil {
		return fmt.Errorf("sim: listen again: %w", err)
	}
	s.refusing.Store(false)
	s.listen(ln)
	return nil
}

// listen takes over a listener. Unless the server is new, s.mu is held.
func (s *server) listen(ln net.Listener) {
	s.ln = ln
	s.running.Go(func() {
		for {
			nc, err := ln.Accept()
			if err != nil {
				if errors.Is(err, net.ErrClosed) {
					return
				}
				time.Sleep(10 * time.Millisecond) // descriptors ran out
				continue
			}
			s.take(ln, nc)
		}
	})
}

func (s *server) take(ln net.Listener, nc net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ln != ln { // refusing or closed since
		_ = nc.Close()
		return
	}
	s.accepted++
	c := newConn(s, nc, s.accepted)
	s.conns[c] = struct{}{}
	s.running.Go(func() {
		defer s.drop(c)
		s.serve(c)
	})
}

func (s *server) drop(c *conn) {
	c.close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
}
