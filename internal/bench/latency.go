package main

import (
	"fmt"

	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableFirst50 = "time to first byte, p50 µs"
	tableFirst99 = "time to first byte, p99 µs"

	row200  = "200 requests/s"
	row500  = "500 requests/s"
	rowHalf = "half of what the gateway can"
)

// latency measures the time to the first byte at fixed rates.
func latency(b *bench) error {
	s, err := b.server(gateway)
	if err != nil {
		return err
	}
	full := load.Closed(s.target, load.NewRequest(s.target, s.model, 2<<10, answer1K), b.conns, b.seconds)
	if err := full.Err(); err != nil {
		return err
	}
	for _, c := range []struct {
		row   string
		rate  float64
		conns int
	}{{row200, 200, 16}, {row500, 500, 16}, {rowHalf, full.Rate() / 2, b.conns}} {
		for _, name := range b.turns(direct, nginx, fasthttp, gateway) {
			s, err := b.server(name)
			if err != nil {
				return err
			}
			res := load.Paced(s.target, load.NewRequest(s.target, s.model, 2<<10, answer1K), c.conns, c.rate, b.seconds)
			if err := res.Err(); err != nil {
				return fmt.Errorf("%s, %s: %w", name, c.row, err)
			}
			b.figures.note(tableFirst50, c.row, name, quantile(res.Waits, .5))
			b.figures.note(tableFirst99, c.row, name, quantile(res.Waits, .99))
		}
	}
	return nil
}
