package main

import (
	"math"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableSoak = "a long run, MB of heap"

	rowEarly    = "at its beginning"
	rowLate     = "at its end"
	rowRequests = "requests, million"
	columnHeap  = "heap in use"
)

// soak puts a mixture of load on the gateway for a long time. The heap in use at a time is the least that was seen around
// it: what there is right behind a collection.
func soak(b *bench) error {
	s, err := b.stage.start(gateway)
	if err != nil {
		return err
	}
	defer s.stop()
	done := make(chan load.Result, 3)
	for _, c := range []struct {
		body, conns int
		order       engine.Order
	}{{2 << 10, 16, answer1K}, {32 << 10, 8, engine.Order{Bytes: 16 << 10}}, {2 << 10, 16, engine.Order{Events: 20, Every: 5 * time.Millisecond}}} {
		go func() {
			done <- load.Closed(s.target, load.NewRequest(s.target, s.model, c.body, c.order), c.conns, b.soak)
		}()
	}
	// The first tenth is for pools, and for what is remembered of sessions, to fill.
	b.pause(b.soak / 10)
	early, err := b.leastHeap(s, b.soak/5)
	if err != nil {
		return err
	}
	for end := time.Now().Add(b.soak * 2 / 5); time.Now().Before(end) && b.ctx.Err() == nil; b.pause(time.Second) {
		b.stage.cutLogs()
	}
	late, err := b.leastHeap(s, b.soak/5)
	if err != nil {
		return err
	}
	requests := 0
	for range cap(done) {
		res := <-done
		if err := res.Err(); err != nil {
			return err
		}
		requests += res.Requests
	}
	b.figures.note(tableSoak, rowEarly, columnHeap, early)
	b.figures.note(tableSoak, rowLate, columnHeap, late)
	b.figures.note(tableSoak, rowRequests, columnHeap, float64(requests)/1e6)
	return nil
}

// leastHeap looks at the heap for a time.
func (b *bench) leastHeap(s *server, d time.Duration) (megabytes float64, err error) {
	megabytes = math.Inf(1)
	for end := time.Now().Add(d); time.Now().Before(end) && b.ctx.Err() == nil; b.pause(d / 200) {
		n, err := s.metric("go_memstats_heap_alloc_bytes")
		if err != nil {
			return 0, err
		}
		megabytes = min(megabytes, n/(1<<20))
		b.stage.cutLogs()
	}
	return megabytes, nil
}
