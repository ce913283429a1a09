// Package upstream sends one request to one address and hands the answer back piece by piece: pooled connections,
// plain and TLS, with limits of its own for connecting, for the first byte and between two reads, and none on the whole.
//
// A round trip is four calls on a Conn, made by one goroutine: Send, ReadHead, Next until io.EOF, Release. Abort may be
// called by another goroutine at any moment and makes whatever is waiting return at once.
package upstream

import "time"

// Addr is where and how to connect.
type Addr struct {
	Host string // host:port to dial; an IPv6 literal in brackets
	TLS  bool   // speak TLS, with the host's name verified against the system's roots
}

// Limits bound the phases of a round trip. 0 turns a limit off.
type Limits struct {
	FirstByte time.Duration // from the request's last byte to the first byte of the answer's body
	Idle      time.Duration // between two reads of the body after that, and between two writes of the request
}

const (
	// IdleConn is how long an unused connection is kept: less than the 5 s after which common engines (uvicorn) close
	// theirs, so that a connection is rarely found closed.
	IdleConn = 4 * time.Second
	// MaxHead is the largest response head that is accepted, in bytes.
	MaxHead = 128 << 10

	smallBuffer = 4 << 10   // a slow stream's buffer
	largeBuffer = 32 << 10  // what a connection moves to once it is seen to fill the small one
	hugeBuffer  = 128 << 10 // what it moves to for a body that is known to be so long
)
