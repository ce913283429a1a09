// Package load is the client of everything that is measured: kept-alive connections that write requests made beforehand
// and read answers without looking at more than has to be counted, so that it costs little beside what is measured.
package load

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
)

// Result is what came of a run.
type Result struct {
	Requests int // that were answered with status 200 to the end
	Events   int // numbered events in their answers
	Errors   int
	First    error         // the first of them
	Elapsed  time.Duration // from the first request to the last answer
	Waits    []time.Duration
}

func (r *Result) fail(err error) {
	if r.Errors++; r.First == nil {
		r.First = err
	}
}

func (r *Result) add(o *Result) {
	r.Requests, r.Events, r.Errors = r.Requests+o.Requests, r.Events+o.Events, r.Errors+o.Errors
	r.Waits = append(r.Waits, o.Waits...)
	if r.First == nil {
		r.First = o.First
	}
}

// Rate is the requests answered per second.
func (r *Result) Rate() float64 { return float64(r.Requests) / r.Elapsed.Seconds() }

// Err returns an error if there was any: a figure taken from answers that failed says nothing.
func (r *Result) Err() error {
	if r.Errors > 0 {
		return fmt.Errorf("%d of %d requests failed: %w", r.Errors, r.Errors+r.Requests, r.First)
	}
	if r.Requests == 0 {
		return errNothing
	}
	return nil
}

var errNothing = errors.New("load: no request was answered")

// readBuffer is what a client reads through.
const readBuffer = 32 << 10

// Closed keeps so many requests in flight for a time: on each connection the next follows the last one's answer.
func Closed(t Target, r *Request, conns int, d time.Duration) Result {
	end := time.Now().Add(d)
	return each(conns, func(_ int, res *Result) {
		c, err := dial(t.Addr, readBuffer)
		if err != nil {
			res.fail(err)
			return
		}
		mine := r.copyFor()
		for time.Now().Before(end) {
			if err := c.round(mine, end.Add(patience), res); err != nil {
				res.fail(err)
				if c, err = c.again(t.Addr); err != nil {
					return
				}
			}
		}
		_ = c.Close()
	})
}

// each runs so many clients at a time and adds up what comes of them.
func each(clients int, run func(i int, res *Result)) Result {
	var sum Result
	var mu sync.Mutex
	var all sync.WaitGroup
	begun := time.Now()
	for i := range clients {
		all.Go(func() {
			var res Result
			run(i, &res)
			mu.Lock()
			defer mu.Unlock()
			sum.add(&res)
		})
	}
	all.Wait()
	sum.Elapsed = time.Since(begun)
	return sum
}

// again connects anew.
func (c *conn) again(addr string) (*conn, error) {
	_ = c.Close()
	return dial(addr, len(c.buf))
}

// round sends one request and reads its answer to the end.
func (c *conn) round(r *Request, by time.Time, res *Result) error {
	if c.by != by {
		c.by = by
		if err := c.SetDeadline(by); err != nil {
			return err
		}
	}
	if err := r.send(c); err != nil {
		return err
	}
	return c.answer(res)
}

// answer reads an answer to its end. Of a stream every event has to come, in order.
func (c *conn) answer(res *Result) error {
	if err := c.head(); err != nil {
		return err
	}
	if !c.chunked {
		if err := c.body(func([]byte) {}); err != nil {
			return err
		}
		res.Requests++
		return nil
	}
	next := 0
	err := c.events(func(event []byte) {
		if n, _, ok := engine.ParseEvent(event); ok && n == next {
			next++
		} else if ok {
			next = -1 << 30 // one was lost: the sum below tells
		}
	})
	if err == nil && next <= 0 {
		err = errLost
	}
	if err == nil {
		res.Requests++
		res.Events += next
	}
	return err
}

var errLost = errors.New("load: events were lost, or came out of order")
