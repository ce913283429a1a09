package gateway

import (
	"errors"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
)

// errLeft ends a wait because the client has gone.
var errLeft = errors.New("the client has left")

// pick chooses an instance of a pool and takes a place there. Where every instance is full and the route has a queue, the
// request waits in it: behind those that came before, until it is served, its time is over, or the client leaves.
func (x *exchange) pick(p *lb.Pool) error {
	q := &x.route.Queue
	if q.Line == nil || p != x.route.Pool || x.isKept {
		return p.Pick(&x.request, &x.lease, time.Now())
	}
	if q.Line.Len() == 0 {
		if err := p.Pick(&x.request, &x.lease, time.Now()); !errors.Is(err, lb.ErrFull) {
			return err
		}
	}
	began := time.Now()
	result, err := x.wait(p)
	x.gateway.metrics.Waited(x.route.Name, result, time.Since(began))
	return err
}

// wait stands in line for a place. The result is what the metrics call it.
func (x *exchange) wait(p *lb.Pool) (result string, err error) {
	q := &x.route.Queue
	ticket := q.Line.Join(p, q.Max)
	if ticket == nil {
		return "full", lb.ErrFull
	}
	defer ticket.Leave()
	over := time.NewTimer(q.Timeout)
	defer over.Stop()
	gone := x.client.context().Done()
	for {
		now := time.Now()
		var returns <-chan time.Time // an instance that is out comes back by itself, and no engine tells of it
		if at, ok := p.Returns(now); ok {
			returns = time.After(at.Sub(now))
		}
		select {
		case <-gone:
			return "left", errLeft
		case <-over.C:
			return "timeout", lb.ErrFull
		case <-returns:
			q.Line.Wake()
		case <-ticket.Turn():
			if err = p.Pick(&x.request, &x.lease, time.Now()); !errors.Is(err, lb.ErrFull) {
				return "served", err
			}
		}
	}
}
