package gateway

import (
	"bytes"
	"crypto/tls"
	"errors"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/rs/zerolog"
	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/hangup"
	"github.com/gpustack/gpustack-gateway/internal/socket"
	"github.com/gpustack/gpustack-gateway/openai"
)

// clients is the set of open client connections.
type clients struct {
	watch   *hangup.Watcher
	limits  Limits
	buffers socket.Buffers // for the beginnings of requests

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
	c := &client{Conn: conn, set: s, limits: s.limits, socket: socket.For(conn)}
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
		c.cut()
	}
}

// listener makes a client of every connection it accepts, up to the limit on their number.
type listener struct {
	net.Listener
	set *clients
	// crowded is what one connection too many is told. It is empty where clients speak TLS: to tell them anything would
	// take a handshake, which is what a gateway with too many connections can't afford.
	crowded []byte

	log    zerolog.Logger
	warned time.Time
}

func (l *listener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			l.warn(err)
			return nil, err
		}
		if l.set.count() >= l.set.limits.Clients {
			// The socket's buffer is empty, so this does not wait; the deadline is for the kernel that thinks otherwise.
			_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
			_, _ = conn.Write(l.crowded)
			_ = conn.Close()
			continue
		}
		if c, err := l.set.add(conn); err == nil {
			return c, nil
		}
		_ = conn.Close() // it has gone already, or the gateway is closing
	}
}

// warn says that connections can't be accepted, for example since the process may open no more files, but not each time:
// whoever serves tries again at once.
func (l *listener) warn(err error) {
	if errors.Is(err, net.ErrClosed) || time.Since(l.warned) < time.Minute {
		return
	}
	l.warned = time.Now()
	l.log.Error().Err(err).Int("clients", l.set.count()).Msg("no connection can be accepted")
}

// secureListener speaks TLS with the clients that a listener makes.
type secureListener struct {
	net.Listener
	config *tls.Config
}

func (l secureListener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := clientOf(conn)
	c.secure = true
	return &secured{Conn: tls.Server(c, l.config), client: c}, nil
}

// crowded is the whole answer to one connection too many.
func crowded() []byte {
	e := &openai.Error{Status: fasthttp.StatusServiceUnavailable, Type: "server_error", Code: "too_many_connections", RetryAfter: retrySoon,
		Message: "The gateway has as many connections as it takes; try again later."}
	var resp fasthttp.Response
	resp.Header.SetNoDefaultContentType(true)
	resp.SetStatusCode(e.Status)
	resp.Header.SetContentType("application/json")
	resp.Header.Set("Retry-After", strconv.Itoa(e.RetryAfter))
	resp.SetConnectionClose()
	resp.SetBody(e.Append(nil, openai.OpenAI, ""))
	var out bytes.Buffer
	_, _ = resp.WriteTo(&out) // a buffer takes everything
	return out.Bytes()
}
