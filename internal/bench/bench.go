package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

// sizes are how long and how much is measured.
type sizes struct {
	rounds  int
	seconds time.Duration // of one measurement under load
	conns   int           // connections that load is put on by
	streams int           // streams at a pace
	few     int           // slow streams between which and many the memory of one is measured
	many    int
	crowd   int           // streams of the crowded experiment
	lasting time.Duration // of that, and of the rests between waves
	leavers int           // clients that hang up
	soak    time.Duration
	routes  []int
	spread  []int // instances of a route
	keys    []int
}

func fullSizes() sizes {
	return sizes{rounds: 5, seconds: 3 * time.Second, conns: 64, streams: 400, few: 1000, many: 5000, crowd: 5000, lasting: 30 * time.Second,
		leavers: 1000, soak: 10 * time.Minute, routes: []int{10, 1000, 10000}, spread: []int{2, 64, 1024}, keys: []int{10, 100000}}
}

func quickSizes() sizes {
	s := fullSizes()
	s.rounds, s.seconds, s.streams, s.few, s.many, s.crowd = 1, time.Second, 200, 200, 1000, 500
	s.lasting, s.leavers, s.soak = 5*time.Second, 200, 20*time.Second
	return s
}

// experiment is one thing that is measured, in one table or a few; a run is one round of it.
type experiment struct {
	part   string
	tables []string // that it fills, and nobody else
	run    func(*bench) error
	once   bool // one round is enough
}

// bench is a run of the whole.
type bench struct {
	sizes
	ctx     context.Context //nolint:containedctx // the run is what it ends
	stage   *stage
	figures *figures
	out     io.Writer // progress
	servers map[string]*server
	present []string
	round   int
}

func newBench(ctx context.Context, gateway string, size sizes, out io.Writer) (*bench, error) {
	s, err := newStage(gateway)
	if err != nil {
		return nil, err
	}
	b := &bench{sizes: size, ctx: ctx, stage: s, figures: newFigures(), out: out, servers: make(map[string]*server)}
	for _, name := range everybody {
		if why := s.missing(name); why != "" {
			fmt.Fprintf(out, "note: %s\n", why)
			continue
		}
		b.present = append(b.present, name)
	}
	return b, nil
}

func (b *bench) close() {
	for _, s := range b.servers {
		s.stop()
	}
	b.stage.close()
}

// server returns a server that lasts as long as the run, so that rounds meet it warm.
func (b *bench) server(name string) (*server, error) {
	if s := b.servers[name]; s != nil {
		return s, nil
	}
	s, err := b.stage.start(name)
	if err != nil {
		return nil, err
	}
	b.servers[name] = s
	return s, b.warm(s)
}

// warm lets a server reach the state that it is measured in.
func (b *bench) warm(s *server) error {
	res := load.Closed(s.target, load.NewRequest(s.target, s.model, 2<<10, answer1K), b.conns, b.seconds/3)
	if err := res.Err(); err != nil {
		return fmt.Errorf("%s: %w", s.name, err)
	}
	return nil
}

// turns are those of the named servers that there are, each round in another order.
func (b *bench) turns(names ...string) (turns []string) {
	for _, name := range names {
		if slices.Contains(b.present, name) {
			turns = append(turns, name)
		}
	}
	n := b.round % max(1, len(turns))
	return append(turns[n:], turns[:n]...)
}

// runAll runs the rounds, each with every experiment.
func (b *bench) runAll(experiments []experiment) error {
	for b.round = range b.rounds {
		for _, e := range experiments {
			if e.once && b.round > 0 {
				continue
			}
			if err := b.ctx.Err(); err != nil {
				return err
			}
			begun := time.Now()
			if err := e.run(b); err != nil {
				return fmt.Errorf("%s: %w", e.tables[0], err)
			}
			b.stage.cutLogs()
			fmt.Fprintf(b.out, "round %d of %d: %s (%.0f s)\n", b.round+1, b.rounds, e.tables[0], time.Since(begun).Seconds())
		}
	}
	return nil
}

// pause waits, or until the run is ended.
func (b *bench) pause(d time.Duration) {
	select {
	case <-b.ctx.Done():
	case <-time.After(d):
	}
}
