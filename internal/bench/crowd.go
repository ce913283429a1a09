package main

import (
	"fmt"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
	"github.com/gpustack/gpustack-gateway/internal/bench/load"
)

const (
	tableCrowd = "a crowd of streams, an event every 50 ms each"

	rowStreams = "streams"
	rowEvents  = "events"
	rowLost    = "events lost"
	rowGap50   = "gap grown on the way, p50 µs"
	rowGap99   = "gap grown on the way, p99 µs"
	rowCores   = "processors used"
)

// crowd has many streams at a time run to their end, past the engine alone and through a gateway that may use every
// processor.
func crowd(b *bench) error {
	const pace = 50 * time.Millisecond
	for _, name := range b.turns(direct, gateway) {
		at := proxyCore
		if name == gateway {
			at = allCores
		}
		s, err := b.stage.startAt(at, name)
		if err != nil {
			return err
		}
		err = b.crowdOf(s, pace)
		s.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func (b *bench) crowdOf(s *server, pace time.Duration) error {
	var sum load.Streamed
	begun := time.Now()
	used, err := s.using(func() error {
		request := load.NewRequest(s.target, s.model, 2<<10, engine.Order{Events: int(b.lasting / pace), Every: pace})
		streams, err := load.Open(s.target, request, b.crowd)
		if err != nil {
			return err
		}
		streams.Record()
		sum, err = streams.Wait()
		return err
	})
	if err != nil {
		return err
	}
	note := func(row string, v float64) { b.figures.note(tableCrowd, row, s.name, v) }
	note(rowStreams, float64(b.crowd))
	note(rowEvents, float64(sum.Events))
	note(rowLost, float64(sum.Lost))
	note(rowGap50, quantile(sum.Gaps, .5))
	note(rowGap99, quantile(sum.Gaps, .99))
	if s.process != nil {
		note(rowCores, float64(used)/float64(time.Since(begun)))
	}
	return nil
}
