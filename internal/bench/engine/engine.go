// Package engine is the engine that everything is measured in front of: it answers as little as an inference engine can,
// as the request's X-Bench header says, and costs next to nothing itself.
package engine

import (
	"net"
	"sync"
	"time"
)

// Engine answers on any number of addresses.
type Engine struct {
	// Begun and Closed, if set, are told of requests whose order has a Watch number: that one has been read, and that its
	// connection has ended. Both are set before the first connection is made.
	Begun  func(watch int)
	Closed func(watch int, at time.Time)

	listeners []net.Listener
	answers   answers
	bodies    bodies

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
}

// Start listens on so many free ports of 127.0.0.1.
func Start(ports int) (*Engine, error) {
	e := &Engine{conns: make(map[net.Conn]struct{})}
	for range ports {
		ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // at once
		if err != nil {
			e.Close()
			return nil, err
		}
		e.listeners = append(e.listeners, ln)
	}
	for _, ln := range e.listeners {
		go e.accept(ln)
	}
	return e, nil
}

// Addrs returns the addresses, host:port.
func (e *Engine) Addrs() (addrs []string) {
	for _, ln := range e.listeners {
		addrs = append(addrs, ln.Addr().String())
	}
	return addrs
}

// Close stops listening and closes every connection.
func (e *Engine) Close() {
	for _, ln := range e.listeners {
		_ = ln.Close()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = true
	for c := range e.conns {
		_ = c.Close()
	}
}

func (e *Engine) accept(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go e.serve(c)
	}
}

// enter notes a connection; it returns false if the engine has been closed.
func (e *Engine) enter(c net.Conn) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.conns[c] = struct{}{}
	}
	return !e.closed
}

func (e *Engine) leave(c net.Conn) {
	_ = c.Close()
	e.mu.Lock()
	delete(e.conns, c)
	e.mu.Unlock()
}

func (e *Engine) serve(c net.Conn) {
	defer e.leave(c)
	if !e.enter(c) {
		return
	}
	r := reader{conn: c, buf: make([]byte, headBuffer), body: &e.bodies}
	w := writer{conn: c, answers: &e.answers}
	for {
		q, err := r.next()
		if err != nil {
			return
		}
		if q.order.Watch != 0 {
			w.gone = e.watch(c, q.order.Watch)
			if e.Begun != nil {
				e.Begun(q.order.Watch)
			}
		}
		if !w.write(q.order) || q.close {
			return
		}
		if w.gone != nil {
			<-w.gone
			return
		}
	}
}

// watch waits for the end of a connection, and says so. Nothing else is to come on it.
func (e *Engine) watch(c net.Conn, number int) chan struct{} {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		var one [1]byte
		_, _ = c.Read(one[:]) // however it ends
		if e.Closed != nil {
			e.Closed(number, time.Now())
		}
	}()
	return gone
}

// bodies keeps the buffers that bodies are read through.
type bodies struct{ pool sync.Pool }

func (b *bodies) take() *[bodyBuffer]byte {
	if p, ok := b.pool.Get().(*[bodyBuffer]byte); ok {
		return p
	}
	return new([bodyBuffer]byte)
}

func (b *bodies) give(p *[bodyBuffer]byte) { b.pool.Put(p) }
