//go:build !unix

package upstream

import "net"

// quietly looks at a connection that is idle, which can't be done here: what the other end has done shows in use.
type quietly struct{}

func (*quietly) watch(net.Conn) {}

func (*quietly) still() bool { return true }
