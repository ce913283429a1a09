//go:build !linux && !darwin

package socket

import "net"

// Socket is not to be had on this system.
type Socket struct{}

// For returns nil.
func For(net.Conn) *Socket { return nil }

// Receive is never called: For returns nil.
func (*Socket) Receive(*Buffers) (*Buffer, int, error) { panic("there is no socket") }

// Ask is never called: For returns nil.
func (*Socket) Ask([][]byte, []byte) (sent, n int, err error) { panic("there is no socket") }

// Silent reports true, which is not known.
func (*Socket) Silent() bool { return true }
