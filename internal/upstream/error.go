package upstream

import (
	"errors"
	"fmt"
	"net"
	"os"
)

// Stage is how far a round trip had come.
type Stage uint8

// The stages, in order.
const (
	Dial Stage = iota // no connection could be made
	Send              // the request was being written
	Head              // the request was written; the head of the answer was not complete
	Body              // the head was complete, the body was not
)

func (s Stage) String() string {
	switch s {
	case Dial:
		return "connect"
	case Send:
		return "send"
	case Head:
		return "head"
	default:
		return "body"
	}
}

// Error says where a round trip failed. Decisions are taken from its fields, never from its text.
type Error struct {
	Stage Stage
	// Stale is set when the connection had been used before and gave no byte of an answer: the other end may have closed
	// it while it was idle, and the request may be sent once more on a fresh connection.
	Stale bool
	Err   error
}

func (e *Error) Error() string { return fmt.Sprintf("upstream: %s: %v", e.Stage, e.Err) }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Timeout reports whether a limit ran out.
func (e *Error) Timeout() bool {
	var n net.Error
	return errors.Is(e.Err, os.ErrDeadlineExceeded) || errors.As(e.Err, &n) && n.Timeout()
}

// What a peer that breaks the protocol is told in the log. ErrAborted and ErrClosed are ours.
var (
	// ErrAborted is the cause when Abort ended the round trip.
	ErrAborted = errors.New("aborted")
	// ErrHeadTooLarge is the cause when the head of an answer is larger than MaxHead.
	ErrHeadTooLarge = fmt.Errorf("the head of the answer is larger than %d bytes", MaxHead)
	// ErrUpgrade is the cause when the upstream answers 101, which nobody asked for.
	ErrUpgrade = errors.New("the upstream wants to switch protocols")
	// ErrCut is the cause when the connection ended before the body did.
	ErrCut = errors.New("the connection ended before the body did")
	// ErrChunk is the cause when the chunked framing of a body is broken.
	ErrChunk = errors.New("the chunked framing is broken")
)

// IsStale reports whether err is an *Error of a connection that had been closed while it was idle.
func IsStale(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Stale
}
