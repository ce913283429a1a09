package gateway

import (
	"net"
	"sync"

	"github.com/gpustack/gpustack-gateway/internal/hangup"
)

// clients is the set of open client connections.
type clients struct {
	watch  *hangup.Watcher
	limits Limits

	mu   sync.Mutex
	open map[*client]struct{}
}

func newClients(limits Limits) (*clients, error) {
	w, err := hangup.New()
	if err != nil {
		return nil, err
	}
	return &clients{watch: w, limits: limits, open: make(map[*client]struct{})}, nil
}

func (s *clients) add(conn net.Conn) (*client, error) {
	c := &client{Conn: conn, set: s, limits: s.limits}
	token, err := s.watch.Watch(conn, c)
	if err != nil {
		return nil, err
	}
	c.token = token
	s.mu.Lock()
	s.open[c] = struct{}{}
	s.mu.Unlock()
	return c, nil
}

func (s *clients) remove(c *client) {
	s.watch.Forget(c.token)
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
}

func (s *clients) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.open)
}

// cut ends every connection, with what is being done for it.
func (s *clients) cut() {
	s.mu.Lock()
	all := make([]*client, 0, len(s.open))
	for c := range s.open {
		all = append(all, c)
	}
	s.mu.Unlock()
	for _, c := range all {
		c.PeerGone()
		_ = c.Conn.Close() // the server that reads from it closes the rest
	}
}

// listener makes a client of every connection it accepts.
type listener struct {
	net.Listener
	set *clients
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c, err := l.set.add(conn); err == nil {
			return c, nil
		}
		_ = conn.Close() // it has gone already, or the gateway is closing
	}
}
