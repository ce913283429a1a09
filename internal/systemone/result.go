package systemone

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"syscall"
	"time"
)

// Result is how a question ended, for a metric's label.
type Result string

// How a question ends.
const (
	Answered    Result = "answered"
	Cached      Result = "cached"       // by an earlier answer
	Shared      Result = "shared"       // by the answer to somebody else, who was asking the same
	Timeout     Result = "timeout"      // no whole answer in time
	Unreachable Result = "unreachable"  // no connection, or one that broke
	Failed      Result = "failed"       // a status that says the service can't, or won't
	Rejected    Result = "rejected"     // a status that finds fault with this question: 400, 413, 422
	Malformed   Result = "malformed"    // an answer that is not believed
	TooLarge    Result = "too_large"    // an answer of more than 64 KiB
	CircuitOpen Result = "circuit_open" // not asked, since the service has failed
	Cancelled   Result = "cancelled"    // the one who asked has left
)

// effect is what a result says about the service.
type effect uint8

const (
	neutral effect = iota // nothing
	good
	bad
)

func (r Result) effect() effect {
	switch r {
	case Answered:
		return good
	case Timeout, Unreachable, Failed, Malformed, TooLarge:
		return bad
	}
	return neutral
}

// Error is why there is no answer. Its text holds nothing of what was asked or answered.
type Error struct {
	Service string
	Result  Result
	Status  int    // of the answer, if the result is Failed or Rejected
	Reason  string // why the answer is not believed, if the result is Malformed
	Detail  string
}

func (e *Error) Error() string { return fmt.Sprintf("decision service %q: %s", e.Service, e.Detail) }

// statusError returns the error of an answer that is not one.
func statusError(status int) *Error {
	e := &Error{Result: Failed, Status: status, Detail: "status " + strconv.Itoa(status)}
	switch status {
	case 400, 413, 422:
		e.Result = Rejected
		e.Detail += ", it does not take this question"
	}
	return e
}

// brokenError returns the error of a question that got no whole answer, ctx being the call's.
func brokenError(ctx context.Context, err error, timeout time.Duration) *Error {
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &Error{Result: Timeout, Detail: fmt.Sprintf("no answer within %v", timeout)}
	case ctx.Err() != nil:
		return cancelledError()
	}
	return &Error{Result: Unreachable, Detail: described(err)}
}

func cancelledError() *Error {
	return &Error{Result: Cancelled, Detail: "nobody waits for the answer any more"}
}

// described returns the text of a connection's error. Only texts of errors that can't hold what a service sent are used.
func described(err error) string {
	var network *net.OpError
	var certificate *tls.CertificateVerificationError
	switch {
	case errors.As(err, &network):
		return network.Error()
	case errors.As(err, &certificate):
		return certificate.Error()
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, net.ErrClosed):
		return "the connection was closed before a whole answer"
	}
	return "no HTTP exchange was possible"
}
