//go:build !unix

package sim

import "net"

// reservation is only the address here: somebody else may get the port meanwhile.
type reservation struct{ addr *net.TCPAddr }

func reserve(addr *net.TCPAddr) (*reservation, error) { return &reservation{addr}, nil }

func (r *reservation) listen() (net.Listener, error) { return net.ListenTCP("tcp", r.addr) }

func (r *reservation) release() {}
