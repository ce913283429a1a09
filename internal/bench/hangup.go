package main

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableHangup = "client gone to upstream closed, ms"
	tableLeave  = "clients that hang up"

	columnMedian = "median"
	columnWorst  = "worst"
	rowAnyCase   = "all cases"
	rowLeavers   = "clients that hung up"
	rowOthers    = "requests of others meanwhile"
	rowErrors    = "of them failed"
	rowEjected   = "instances ejected"
)

// leaving are the moments in which a client leaves.
var leaving = []struct {
	row     string
	order   engine.Order
	listens bool // until something of the answer has come
}{
	{"plain, before the first byte", engine.Order{Bytes: 1 << 10, First: -1}, false},
	{"plain, in a body that does not go on", engine.Order{Bytes: 64 << 10, Half: true}, true},
	{"stream, before the first byte", engine.Order{Events: -1, First: -1}, false},
	{"stream, silent", engine.Order{Events: -1, Every: time.Hour}, true},
	{"stream, flowing", engine.Order{Events: -1, Every: 20 * time.Millisecond}, true},
}

// watched is an engine in this process, which knows when its connections end.
type watched struct {
	*engine.Engine
	mu    sync.Mutex
	next  int
	calls map[int]*call
}

// call is one request to it.
type call struct {
	begun  chan struct{}
	closed chan time.Time
}

func startWatched() (*watched, error) {
	e, err := engine.Start(enginePorts)
	if err != nil {
		return nil, err
	}
	w := &watched{Engine: e, calls: make(map[int]*call)}
	e.Begun = func(n int) { close(w.call(n).begun) }
	e.Closed = func(n int, at time.Time) { w.call(n).closed <- at }
	return w, nil
}

// expect makes up a number for a request that is to come.
func (w *watched) expect() (int, *call) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.next++
	c := &call{make(chan struct{}), make(chan time.Time, 1)}
	w.calls[w.next] = c
	return w.next, c
}

func (w *watched) call(n int) *call {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.calls[n]
}

var (
	errOpen     = errors.New("the upstream's connection stayed open")
	errNotAsked = errors.New("a request did not reach the engine")
)

// hangups has clients leave at every moment there is, first one after the other, then many while others go on.
func hangups(b *bench) error {
	w, err := startWatched()
	if err != nil {
		return err
	}
	defer w.Close()
	s, err := b.stage.startGateway(proxyCore, shape{routes: 1, keys: 1, instances: w.Addrs()})
	if err != nil {
		return err
	}
	defer s.stop()
	if err := b.warm(s); err != nil {
		return err
	}
	var worst time.Duration
	for _, c := range leaving {
		var took []time.Duration
		for i := range 20 {
			d, err := w.leave(s, c.order, c.listens, i%2 == 0)
			if err != nil {
				return fmt.Errorf("%s: %w", c.row, err)
			}
			took = append(took, d)
			worst = max(worst, d)
		}
		b.figures.note(tableHangup, c.row, columnMedian, quantile(took, .5)/1000)
		b.figures.note(tableHangup, c.row, columnWorst, quantile(took, 1)/1000)
	}
	b.figures.note(tableHangup, rowAnyCase, columnWorst, micros(worst)/1000)
	return b.leaveMany(s, w)
}

// leave has one client leave, and returns how long after that the upstream's connection ended.
func (w *watched) leave(s *server, order engine.Order, listens, reset bool) (time.Duration, error) {
	n, call := w.expect()
	order.Watch = n
	c, err := load.Call(s.target, load.NewRequest(s.target, s.model, 2<<10, order))
	if err != nil {
		return 0, err
	}
	select {
	case <-call.begun:
	case <-time.After(patience):
		return 0, errNotAsked
	}
	if listens {
		if err := c.Listen(); err != nil {
			return 0, err
		}
	}
	time.Sleep(time.Duration(rand.IntN(10)) * time.Millisecond)
	left := c.Leave(reset)
	select {
	case at := <-call.closed:
		return max(0, at.Sub(left)), nil
	case <-time.After(patience):
		return 0, errOpen
	}
}

// leaveMany has many clients leave at any moment, while others want their answers.
func (b *bench) leaveMany(s *server, w *watched) error {
	before, err := s.metric("gpustack_gateway_ejections_total")
	if err != nil {
		return err
	}
	var others load.Result
	done := make(chan struct{})
	go func() {
		defer close(done)
		others = load.Closed(s.target, load.NewRequest(s.target, s.model, 2<<10, answer1K), b.conns/2, b.seconds)
	}()
	err = w.leaveAll(s, b.leavers)
	<-done
	if err != nil {
		return err
	}
	after, err := s.metric("gpustack_gateway_ejections_total")
	if err != nil {
		return err
	}
	b.figures.note(tableLeave, rowLeavers, gateway, float64(b.leavers))
	b.figures.note(tableLeave, rowOthers, gateway, float64(others.Requests))
	b.figures.note(tableLeave, rowErrors, gateway, float64(others.Errors))
	b.figures.note(tableLeave, rowEjected, gateway, after-before)
	return nil
}

// leaveAll has so many clients leave, some dozens at a time.
func (w *watched) leaveAll(s *server, leavers int) error {
	const atOnce = 50
	var mu sync.Mutex
	var first error
	var all sync.WaitGroup
	for from := range atOnce {
		all.Go(func() {
			for i := from; i < leavers; i += atOnce {
				c := leaving[i%len(leaving)]
				if _, err := w.leave(s, c.order, c.listens, i/len(leaving)%2 == 0); err != nil {
					mu.Lock()
					first = err
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	return first
}
