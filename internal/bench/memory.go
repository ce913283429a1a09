package main

import (
	"fmt"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableMemory = "KB of memory"

	rowFresh  = "a slow stream, 2 KB request, fresh process"
	rowThird  = "a slow stream, 2 KB request, third wave"
	rowFresh3 = "a slow stream, 32 KB request, fresh process"
	rowThird3 = "a slow stream, 32 KB request, third wave"
	rowIdle   = "an idle kept-alive client"
)

// slow is a stream that brings next to nothing, and lasts until it is ended.
var slow = engine.Order{Events: -1, Every: time.Second}

// memory measures what a stream and an idle client hold, each in processes that have just begun.
func memory(b *bench) error {
	for _, name := range b.turns(nginx, gateway) {
		for _, c := range []struct {
			body         int
			fresh, third string
		}{{2 << 10, rowFresh, rowThird}, {32 << 10, rowFresh3, rowThird3}} {
			fresh, third, err := b.waves(name, c.body)
			if err != nil {
				return fmt.Errorf("%s, %d KB: %w", name, c.body>>10, err)
			}
			b.figures.note(tableMemory, c.fresh, name, fresh)
			b.figures.note(tableMemory, c.third, name, third)
		}
		idle, err := b.idle(name)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", name, rowIdle, err)
		}
		b.figures.note(tableMemory, rowIdle, name, idle)
	}
	return nil
}

// waves has three waves of streams, each of a few and then of many, and returns by what each stream beyond the few has
// made a process grow: in its first wave, and when it has had them all. Both count from the few of the first wave, since
// a process does not give back what it held.
func (b *bench) waves(name string, body int) (fresh, third float64, err error) {
	s, err := b.stage.start(name)
	if err != nil {
		return 0, 0, err
	}
	defer s.stop()
	request := load.NewRequest(s.target, s.model, body, slow)
	base := 0.0
	for wave := range 3 {
		few, many, err := b.wave(s, request)
		if err != nil {
			return 0, 0, err
		}
		if wave == 0 {
			base = few
			fresh = (many - base) / float64(b.many-b.few)
		}
		third = (many - base) / float64(b.many-b.few)
	}
	return fresh, third, nil
}

// settle is how long memory is let come to rest before it is looked at.
func (b *bench) settle() { b.pause(b.lasting / 15) }

// wave opens a few streams, then many, and returns the memory held with either.
func (b *bench) wave(s *server, r *load.Request) (few, many float64, err error) {
	streams, err := load.Open(s.target, r, b.few)
	if err != nil {
		return 0, 0, err
	}
	b.settle()
	few, err = s.process.rss()
	if err == nil {
		err = streams.More(s.target, r, b.many-b.few)
	}
	if err == nil {
		b.settle()
		many, err = s.process.rss()
	}
	sum, closed := streams.Close()
	switch {
	case err != nil:
	case closed != nil:
		err = closed
	case sum.Lost > 0:
		err = fmt.Errorf("%d events were lost", sum.Lost)
	}
	b.settle()
	return few, many, err
}

// idle returns what each connection holds that has had an answer and rests.
func (b *bench) idle(name string) (float64, error) {
	s, err := b.stage.start(name)
	if err != nil {
		return 0, err
	}
	defer s.stop()
	request := load.NewRequest(s.target, s.model, 2<<10, answer1K)
	held, err := load.Hold(s.target, request, b.few)
	if err != nil {
		return 0, err
	}
	defer held.Close()
	b.settle()
	few, err := s.process.rss()
	if err != nil {
		return 0, err
	}
	if err := held.More(s.target, request, b.many-b.few); err != nil {
		return 0, err
	}
	b.settle()
	many, err := s.process.rss()
	return (many - few) / float64(b.many-b.few), err
}
