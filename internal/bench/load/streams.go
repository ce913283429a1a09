package load

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
)

// streamBuffer is what the client of a slow stream reads through.
const streamBuffer = 4 << 10

// Streams are streams that run until they are closed.
type Streams struct {
	all     []*stream
	running sync.WaitGroup
	record  atomic.Bool
	closing atomic.Bool
}

// stream is one of them. What its goroutine writes alone is read when it has ended.
type stream struct {
	conn   *conn
	come   atomic.Int64 // events so far
	events int          // of the whole stream; less than 0: it has no end

	next     int   // number of the event to come
	lost     int   // events that never came
	sent, at int64 // of the last event
	gaps     []time.Duration
	err      error
}

// Open begins so many streams: see More.
func Open(t Target, r *Request, n int) (*Streams, error) {
	s := &Streams{}
	if err := s.More(t, r, n); err != nil {
		_, _ = s.Close() // the error is why they do not all run
		return nil, err
	}
	return s, nil
}

// More begins so many streams in addition, a few hundred at a time so that no listener's queue runs over, and returns
// when each has brought an event.
func (s *Streams) More(t Target, r *Request, n int) error {
	const atOnce = 200
	for end := len(s.all) + n; len(s.all) < end; {
		if err := s.open(t, r, min(atOnce, end-len(s.all))); err != nil {
			return err
		}
	}
	return nil
}

func (s *Streams) open(t Target, r *Request, n int) error {
	from := len(s.all)
	for range n {
		c, err := dial(t.Addr, streamBuffer)
		if err != nil {
			return err
		}
		st := &stream{conn: c, events: r.events}
		s.all = append(s.all, st)
		if err := r.copyFor().send(c); err != nil {
			return err
		}
		s.running.Add(1)
		go func() { defer s.running.Done(); st.run(s) }()
	}
	return within(patience, func() bool {
		for _, st := range s.all[from:] {
			if st.come.Load() == 0 {
				return false
			}
		}
		return true
	})
}

// within waits until a condition holds.
func within(d time.Duration, holds func() bool) error {
	for end := time.Now().Add(d); !holds(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			return errSlow
		}
	}
	return nil
}

var errSlow = errors.New("load: streams do not begin")

func (st *stream) run(s *Streams) {
	if st.err = st.conn.head(); st.err != nil {
		return
	}
	st.err = st.conn.events(func(event []byte) {
		n, sent, ok := engine.ParseEvent(event)
		if !ok {
			return
		}
		at := time.Now().UnixNano()
		st.lost += n - st.next
		if st.next = n + 1; n > 0 && s.record.Load() {
			st.gaps = append(st.gaps, time.Duration((at-st.at)-(sent-st.sent)))
		}
		st.sent, st.at = sent, at
		st.come.Add(1)
	})
	switch {
	case st.events >= 0:
		st.lost += st.events - st.next
	case s.closing.Load():
		st.err = nil // it is we who have ended it
	case st.err == nil:
		st.err = errEnded
	}
}

var errEnded = errors.New("load: a stream ended that has no end")

// Events is how many events have come on all streams.
func (s *Streams) Events() (n int64) {
	for _, st := range s.all {
		n += st.come.Load()
	}
	return n
}

// Record notes from here on by how much the gap between two events has grown on their way: the time between their
// arrivals less the time between their departures, which the engine writes into them.
func (s *Streams) Record() { s.record.Store(true) }

// Close ends the streams.
func (s *Streams) Close() (Streamed, error) {
	s.closing.Store(true)
	for _, st := range s.all {
		_ = st.conn.Close()
	}
	return s.Wait()
}

// Streamed is what came of streams.
type Streamed struct {
	Gaps   []time.Duration // that were noted
	Events int64
	Lost   int // events that did not come
}

// Wait waits for streams that have an end. It returns an error if one broke.
func (s *Streams) Wait() (Streamed, error) {
	s.running.Wait()
	sum := Streamed{Events: s.Events()}
	failed := 0
	var first error
	for _, st := range s.all {
		sum.Gaps, sum.Lost = append(sum.Gaps, st.gaps...), sum.Lost+st.lost
		if st.err != nil && !errors.Is(st.err, net.ErrClosed) {
			if failed++; first == nil {
				first = st.err
			}
		}
		_ = st.conn.Close()
	}
	if failed > 0 {
		return sum, fmt.Errorf("%d of %d streams broke: %w", failed, len(s.all), first)
	}
	return sum, nil
}
