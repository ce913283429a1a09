package main

import (
	"fmt"
	"strconv"

	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableRoutes    = "CPU µs per request, by routes"
	tableInstances = "CPU µs per request, by instances of the route"
	tableKeys      = "CPU µs per request, by keys"
)

// scale measures what a request costs by the size of the routes file. Requests come by turns for all of its routes, with
// all of its keys.
func scale(b *bench) error {
	for _, n := range b.routes {
		if err := b.sized(tableRoutes, n, shape{routes: n, keys: 10, instances: b.stage.engines}); err != nil {
			return err
		}
	}
	for _, n := range b.spread {
		if err := b.sized(tableInstances, n, shape{routes: 10, keys: 10, instances: b.stage.instances(n)}); err != nil {
			return err
		}
	}
	for _, n := range b.keys {
		if err := b.sized(tableKeys, n, shape{routes: 10, keys: n, instances: b.stage.engines}); err != nil {
			return err
		}
	}
	return nil
}

// instances are so many addresses of the engine: they differ in their path, which the engine does not mind, so that many
// instances do not mean many connections as well.
func (s *stage) instances(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprintf("%s/i%d/v1", s.engines[i%len(s.engines)], i))
	}
	return all
}

func (b *bench) sized(table string, n int, size shape) error {
	s, err := b.stage.startGateway(proxyCore, size)
	if err != nil {
		return err
	}
	defer s.stop()
	if err := b.warm(s); err != nil {
		return err
	}
	used, res, err := b.underLoad(s, load.NewRequest(s.target, s.model, 2<<10, answer1K).Vary(size.routes, size.keys))
	if err != nil {
		return err
	}
	b.figures.note(table, strconv.Itoa(n), gateway, micros(used)/float64(res.Requests))
	return nil
}
