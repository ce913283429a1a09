package main

import (
	"fmt"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableCPU    = "CPU µs per request"
	tableRate   = "requests/s"
	tableAllocs = "allocations per request"
	tableEvents = "CPU µs per event"

	row2K    = "2 KB body, 1 KB answer"
	row32K   = "32 KB body, 1 KB answer"
	row1M    = "1 MB body, 1 KB answer"
	rowLarge = "2 KB body, 256 KB answer"
	rowBurst = "64 events in a burst"
	row20ms  = "an event every 20 ms"
	row50ms  = "an event every 50 ms"
)

// answer1K is the answer that everything is answered with where nothing else is said.
var answer1K = engine.Order{Bytes: 1 << 10}

// requestCosts puts load on everybody by turns: what a request costs, and how many a second one core takes.
func requestCosts(b *bench) error {
	for _, c := range []struct {
		row   string
		body  int
		order engine.Order
	}{
		{row2K, 2 << 10, answer1K}, {row32K, 32 << 10, answer1K}, {row1M, 1 << 20, answer1K}, {rowLarge, 2 << 10, engine.Order{Bytes: 256 << 10}},
	} {
		for _, name := range b.turns(everybody...) {
			s, err := b.server(name)
			if err != nil {
				return err
			}
			used, res, err := b.underLoad(s, load.NewRequest(s.target, s.model, c.body, c.order))
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, c.row, err)
			}
			b.figures.note(tableRate, c.row, name, res.Rate())
			if s.process != nil {
				b.figures.note(tableCPU, c.row, name, micros(used)/float64(res.Requests))
			}
		}
	}
	return nil
}

// underLoad has a server answer a request again and again, and returns what CPU time it used.
func (b *bench) underLoad(s *server, r *load.Request) (used time.Duration, res load.Result, err error) {
	used, err = s.using(func() error {
		res = load.Closed(s.target, r, b.conns, b.seconds)
		return res.Err()
	})
	return used, res, err
}

// using returns what CPU time a server uses while something is done.
func (s *server) using(do func() error) (time.Duration, error) {
	if s.process == nil {
		return 0, do()
	}
	before, err := s.process.cpu()
	if err != nil {
		return 0, err
	}
	if err := do(); err != nil {
		return 0, err
	}
	after, err := s.process.cpu()
	return after - before, err
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// allocations counts what the gateway's process allocates for a request: its handler, and everything around it.
func allocations(b *bench) error {
	s, err := b.server(gateway)
	if err != nil {
		return err
	}
	before, err := s.metric("go_memstats_mallocs_total")
	if err != nil {
		return err
	}
	res := load.Closed(s.target, load.NewRequest(s.target, s.model, 2<<10, answer1K), b.conns, b.seconds)
	if err := res.Err(); err != nil {
		return err
	}
	after, err := s.metric("go_memstats_mallocs_total")
	if err != nil {
		return err
	}
	b.figures.note(tableAllocs, row2K, gateway, (after-before)/float64(res.Requests))
	return nil
}

// eventCosts has everybody by turns pass on streams: what an event costs.
func eventCosts(b *bench) error {
	for _, name := range b.turns(nginx, haproxy, fasthttp, netHTTP, gateway) {
		s, err := b.server(name)
		if err != nil {
			return err
		}
		used, res, err := b.underLoad(s, load.NewRequest(s.target, s.model, 2<<10, engine.Order{Events: 64}))
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, rowBurst, err)
		}
		b.figures.note(tableEvents, rowBurst, name, micros(used)/float64(res.Events))
		for _, p := range []struct {
			row  string
			pace time.Duration
		}{{row20ms, 20 * time.Millisecond}, {row50ms, 50 * time.Millisecond}} {
			cost, err := b.atPace(s, p.pace)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", name, p.row, err)
			}
			b.figures.note(tableEvents, p.row, name, cost)
		}
	}
	return nil
}

// atPace returns what CPU time in microseconds an event costs, of streams that have one at a pace.
func (b *bench) atPace(s *server, pace time.Duration) (float64, error) {
	streams, err := load.Open(s.target, load.NewRequest(s.target, s.model, 2<<10, engine.Order{Events: -1, Every: pace}), b.streams)
	if err != nil {
		return 0, err
	}
	b.pause(b.seconds / 10)
	before := streams.Events()
	used, err := s.using(func() error { b.pause(b.seconds); return nil })
	events := streams.Events() - before
	sum, closed := streams.Close()
	switch {
	case err != nil:
		return 0, err
	case closed != nil:
		return 0, closed
	case sum.Lost > 0:
		return 0, fmt.Errorf("%d events were lost", sum.Lost)
	}
	return micros(used) / float64(events), nil
}
