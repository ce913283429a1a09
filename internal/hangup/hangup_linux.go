package hangup

import (
	"fmt"
	"net"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Watcher watches any number of connections with one goroutine: an epoll set of its own, which itself waits in the
// runtime's poller and so costs no thread.
type Watcher struct {
	set  *os.File
	done chan struct{}

	mu    sync.Mutex
	next  uint64
	peers map[uint64]Peer // by token; nil once closed
}

// New starts a watcher. Close ends it.
func New() (*Watcher, error) {
	fd, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("hangup: epoll_create1: %w", err)
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, fmt.Errorf("hangup: set nonblock: %w", err)
	}
	w := &Watcher{set: os.NewFile(uintptr(fd), "hangup"), done: make(chan struct{}), peers: make(map[uint64]Peer)}
	raw, err := w.set.SyscallConn()
	if err != nil {
		_ = w.set.Close()
		return nil, fmt.Errorf("hangup: %w", err)
	}
	go w.run(func(f func(fd uintptr) bool) error { return raw.Read(f) })
	return w, nil
}

// Watch calls p.PeerGone when the other end of c goes. A connection that has no file descriptor is not watched. The
// token is for Forget, which must be called when c is closed.
func (w *Watcher) Watch(c net.Conn, p Peer) (token uint64, err error) {
	raw := rawConn(c)
	if raw == nil {
		return 0, nil
	}
	w.mu.Lock()
	if w.peers == nil {
		w.mu.Unlock()
		return 0, ErrClosed
	}
	w.next++
	token = w.next
	w.peers[token] = p
	w.mu.Unlock()

	var add error
	set, err := w.set.SyscallConn()
	if err == nil {
		err = set.Control(func(epfd uintptr) {
			if e := raw.Control(func(fd uintptr) { add = register(int(epfd), int(fd), token) }); e != nil {
				add = e
			}
		})
	}
	if err == nil {
		err = add
	}
	if err != nil {
		w.Forget(token)
		return 0, fmt.Errorf("hangup: watch: %w", err)
	}
	return token, nil
}

// register adds a socket to the set, edge-triggered: the hang-up is reported once, and data that arrives wakes nobody.
// The kernel drops the entry by itself when the socket is closed; the token, not the descriptor, travels with the
// event, so that a descriptor used again for another connection can't be taken for the old one.
func register(epfd, fd int, token uint64) error {
	ev := unix.EpollEvent{Events: unix.EPOLLRDHUP | unix.EPOLLET, Fd: int32(uint32(token)), Pad: int32(uint32(token >> 32))}
	return unix.EpollCtl(epfd, unix.EPOLL_CTL_ADD, fd, &ev)
}

// Forget ends the watch that Watch gave the token for; token 0 is none. PeerGone may still be running when it returns.
func (w *Watcher) Forget(token uint64) {
	if token == 0 {
		return
	}
	w.mu.Lock()
	delete(w.peers, token)
	w.mu.Unlock()
}

// Close ends the watcher and waits for its goroutine.
func (w *Watcher) Close() error {
	w.mu.Lock()
	w.peers = nil
	w.mu.Unlock()
	err := w.set.Close()
	<-w.done
	return err
}

func (w *Watcher) run(wait func(func(fd uintptr) bool) error) {
	defer close(w.done)
	events := make([]unix.EpollEvent, 128)
	for {
		n := 0
		err := wait(func(fd uintptr) bool {
			var e error
			n, e = unix.EpollWait(int(fd), events, 0)
			return e != unix.EINTR && n != 0 // false: nothing yet, the runtime waits for more
		})
		if err != nil || n < 0 {
			return // the set was closed
		}
		for _, ev := range events[:n] {
			w.gone(uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32)
		}
	}
}

func (w *Watcher) gone(token uint64) {
	w.mu.Lock()
	p := w.peers[token]
	delete(w.peers, token)
	w.mu.Unlock()
	if p != nil {
		p.PeerGone()
	}
}
