package systemone

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// callKey is what questions must have in common to share a call: all that is sent, to whom, and how long they wait. So a
// call ends no later than any of those who wait for it would give up.
type callKey struct {
	question digest
	timeout  time.Duration
}

// call is a question on its way. The client's lock guards waiters and keep; answer and fault may be read once done is
// closed.
type call struct {
	key     callKey
	cancel  context.CancelFunc
	waiters int
	keep    bool // somebody wants the answer remembered
	done    chan struct{}
	answer  []byte
	fault   *Error
}

// join adds somebody who waits. c.mu is held.
func (w *call) join(q *Question) {
	w.waiters++
	w.keep = w.keep || q.Keep > 0
}

// call begins a call, unless the service's circuit refuses. c.mu is held.
func (c *Client) call(key callKey, s *service, q *Question, now time.Time) (*call, *Error) {
	leave, ok := s.circuit.admit(now)
	if !ok {
		return nil, &Error{Result: CircuitOpen, Detail: fmt.Sprintf("not asked after %d failures in a row", s.circuit.failures)}
	}
	own := *q
	own.Body = bytes.Clone(q.Body) // whose memory is somebody else's as soon as the one who asks has left
	ctx, cancel := context.WithTimeout(c.life, q.Timeout)
	w := &call{key: key, cancel: cancel, done: make(chan struct{})}
	c.calls[key] = w
	c.running.Go(func() {
		defer cancel()
		answer, rest, fault := c.exchange(ctx, &own)
		c.settle(w, s, leave, answer, fault)
		drain(rest)
	})
	return w, nil
}

// settle takes in how a call ended, and tells those who wait for it.
func (c *Client) settle(w *call, s *service, leave ticket, answer []byte, fault *Error) {
	result := Answered
	if fault != nil {
		result = fault.Result
	}
	now := c.config.Now()
	c.mu.Lock()
	if c.calls[w.key] == w {
		delete(c.calls, w.key)
	}
	if fault == nil && w.keep {
		c.cache.add(w.key.question, answer, now)
	}
	switched := s.circuit.learn(leave, result.effect(), now)
	state := s.state(now)
	w.answer, w.fault = answer, fault
	close(w.done)
	c.mu.Unlock()
	if switched && c.config.Switched != nil {
		c.config.Switched(state)
	}
}

// wait waits for a call that the caller has joined. A call that nobody waits for any more is cancelled.
func (c *Client) wait(ctx context.Context, w *call) ([]byte, *Error) {
	select {
	case <-w.done:
		return w.answer, w.fault
	case <-ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w.waiters--; w.waiters == 0 {
		w.cancel()
		if c.calls[w.key] == w {
			delete(c.calls, w.key) // who comes now asks anew
		}
	}
	return nil, cancelledError()
}
