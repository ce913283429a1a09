//go:build !unix

package upstream

import "net"

// glance looks at a socket without reading from it, which is not done on this system.
type glance struct{}

func newGlance(net.Conn) *glance { return nil }

func (*glance) silent() bool { return true }
