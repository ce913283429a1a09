//go:build !linux

package hangup

import "net"

// Watcher on systems other than Linux watches nothing: there a client's leaving is seen when a write to it fails.
type Watcher struct{}

// New returns a watcher that watches nothing.
func New() (*Watcher, error) { return &Watcher{}, nil }

// Watch does nothing.
func (*Watcher) Watch(net.Conn, Peer) (token uint64, err error) { return 0, nil }

// Forget does nothing.
func (*Watcher) Forget(uint64) {}

// Close does nothing.
func (*Watcher) Close() error { return nil }
