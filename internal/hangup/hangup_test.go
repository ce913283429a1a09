//go:build linux

package hangup

import (
	"net"
	"sync"
	"testing"
	"time"
)

type flag struct {
	once sync.Once
	ch   chan struct{}
}

func newFlag() *flag { return &flag{ch: make(chan struct{})} }

func (f *flag) PeerGone() { f.once.Do(func() { close(f.ch) }) }

func (f *flag) wait(t *testing.T) {
	t.Helper()
	select {
	case <-f.ch:
	case <-time.After(10 * time.Second):
		t.Fatal("the hang-up was not noticed")
	}
}

func (f *flag) raised() bool {
	select {
	case <-f.ch:
		return true
	default:
		return false
	}
}

// pair returns the two ends of a loopback connection.
func pair(t *testing.T) (client, server *net.TCPConn) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	c, err := net.Dial("tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	s, err := ln.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

func start(t *testing.T) *Watcher {
	t.Helper()
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

func TestNoticesEveryWayToLeave(t *testing.T) {
	for name, leave := range map[string]func(c *net.TCPConn){
		"close":                       func(c *net.TCPConn) { c.Close() },
		"reset":                       func(c *net.TCPConn) { c.SetLinger(0); c.Close() },
		"shut down the sending side":  func(c *net.TCPConn) { c.CloseWrite() },
		"close behind unread bytes":   func(c *net.TCPConn) { c.Write(make([]byte, 1000)); c.Close() },
		"close before the connection": nil,
	} {
		t.Run(name, func(t *testing.T) {
			w, f := start(t), newFlag()
			c, s := pair(t)
			if leave == nil { // gone before it is watched
				c.Close()
				leave = func(*net.TCPConn) {}
			}
			if _, err := w.Watch(s, f); err != nil {
				t.Fatal(err)
			}
			leave(c)
			f.wait(t)
		})
	}
}

func TestDataIsNotAHangUp(t *testing.T) {
	w, f := start(t), newFlag()
	c, s := pair(t)
	if _, err := w.Watch(s, f); err != nil {
		t.Fatal(err)
	}
	for range 100 {
		c.Write([]byte("x"))
	}
	buf := make([]byte, 100)
	for n := 0; n < 100; {
		m, err := s.Read(buf)
		if err != nil {
			t.Fatal(err)
		}
		n += m
	}
	if f.raised() {
		t.Fatal("data was taken for a hang-up")
	}
	c.Close()
	f.wait(t)
}

func TestForgottenConnectionsAreSilent(t *testing.T) {
	w, f, g := start(t), newFlag(), newFlag()
	c, s := pair(t)
	token, err := w.Watch(s, f)
	if err != nil {
		t.Fatal(err)
	}
	w.Forget(token)
	c.Close()
	c2, s2 := pair(t)
	if _, err := w.Watch(s2, g); err != nil {
		t.Fatal(err)
	}
	c2.Close()
	g.wait(t) // events come in order, so the first one would have come before
	if f.raised() {
		t.Fatal("a forgotten connection was reported")
	}
}

func TestManyAtOnce(t *testing.T) {
	w := start(t)
	flags := make([]*flag, 300)
	clients := make([]*net.TCPConn, len(flags))
	for i := range flags {
		c, s := pair(t)
		flags[i], clients[i] = newFlag(), c
		if _, err := w.Watch(s, flags[i]); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range clients {
		c.Close()
	}
	for _, f := range flags {
		f.wait(t)
	}
}

func TestWatchAfterClose(t *testing.T) {
	w, err := New()
	if err != nil {
		t.Fatal(err)
	}
	_, s := pair(t)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Watch(s, newFlag()); err == nil {
		t.Fatal("a closed watcher took a connection")
	}
}
