package main

import (
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/gpustack/gpustack-gateway/internal/probe"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

// probes has the engines asked whether they are well, and takes out those that are not.
type probes struct {
	prober *probe.Prober
	log    zerolog.Logger

	mu      sync.Mutex
	engines map[string]*lb.Engine // that are asked, by URL
}

func newProbes(log zerolog.Logger) *probes {
	p := &probes{log: log}
	p.prober = probe.New(nil, p.heard)
	return p
}

// set replaces what is asked by the checks of a new snapshot. An engine that is not asked any more can't come back by
// being well, so it is put back now.
func (p *probes) set(checks []route.Check) {
	engines := make(map[string]*lb.Engine, len(checks))
	wanted := make([]probe.Check, len(checks))
	for i, c := range checks {
		engines[c.Engine.URL()] = c.Engine
		wanted[i] = probe.Check{Engine: c.Engine.URL(), URL: c.URL, Interval: c.Interval}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for url, e := range p.engines {
		if engines[url] == nil {
			e.Up(time.Now())
		}
	}
	p.engines = engines
	p.prober.Set(wanted)
}

// heard takes what an engine said.
func (p *probes) heard(url string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.engines[url]
	if e == nil {
		return
	}
	now := time.Now()
	status := e.Health(now).Status
	down := status == lb.Down
	switch {
	case err != nil:
		e.Down()
		if !down && status != lb.Drained {
			p.log.Warn().Str("engine", url).AnErr("cause", err).Msg("an engine failed its health check and is taken out")
		}
	case down:
		e.Up(now)
		p.log.Info().Str("engine", url).Msg("an engine passed its health check and is back")
	}
}
