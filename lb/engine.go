package lb

import (
	"sync/atomic"
	"time"
)

// Engine is what is happening at one engine process, or at one provider: requests in flight and health. It is
// identified by its URL, shared by every route that reaches it, and outlives reloads. Safe for any number of
// goroutines.
type Engine struct {
	url     string
	drained atomic.Bool
	health  atomic.Pointer[health]
	waiters atomic.Int64 // requests in queues that may use this engine
	waiting waiting

	// The counts are written by every request. They keep a cache line of their own, so that other cores may go on
	// reading what is above, and other engines.
	_        [64]byte
	inflight atomic.Int64
	probes   atomic.Int64 // of those in flight, the ones that began on probation
	_        [64]byte
}

// URL returns the address that identifies the engine.
func (e *Engine) URL() string { return e.url }

// Inflight returns how many requests the engine has, over all routes.
func (e *Engine) Inflight() int64 { return e.inflight.Load() }

// Health returns the engine's health at a moment.
func (e *Engine) Health(now time.Time) State {
	if e.drained.Load() {
		return State{Status: Drained}
	}
	h := e.health.Load()
	s := State{Status: h.status(now)}
	if s.Status == Ejected {
		s.Until = h.until
	}
	return s
}

// SetDrained takes the engine out of every choice, fail-open included, or puts it back. Running requests go on.
func (e *Engine) SetDrained(drained bool) {
	e.drained.Store(drained)
	e.roomy()
}

// Down takes the engine out because an active health check failed. It is out until Up, whatever its requests say.
func (e *Engine) Down() {
	e.change(func(h *health) *health { return h.failedCheck() })
}

// Up says that an active health check succeeded. An engine taken out by Down comes back on probation; an ejection for
// failed requests runs on.
func (e *Engine) Up(now time.Time) {
	e.change(func(h *health) *health { return h.passedCheck(now) })
	e.roomy()
}

// forget makes the engine one that nothing is known of.
func (e *Engine) forget() {
	e.drained.Store(false)
	e.health.Store(nil)
}

// change replaces the health by what follows from it, and returns both.
func (e *Engine) change(follow func(*health) *health) (was, is *health) {
	for {
		was = e.health.Load()
		is = follow(was)
		if is == was || e.health.CompareAndSwap(was, is) {
			return was, is
		}
	}
}

// learn takes the outcome of a request that began in the given epoch, and reports whether it ejected the engine.
func (e *Engine) learn(o Outcome, epoch uint64, now time.Time, p HealthPolicy) (ejected bool) {
	was, is := e.change(func(h *health) *health { return h.after(o, epoch, now, p) })
	return is != was && is.phase == out
}

// enter counts one request more unless the engine has limit already (0 is unlimited), and reports whether it did.
func (e *Engine) enter(limit int64) bool {
	if limit <= 0 {
		e.inflight.Add(1)
		return true
	}
	for {
		n := e.inflight.Load()
		if n >= limit {
			return false
		}
		if e.inflight.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// enterAt counts one request more if there are still exactly seen.
func (e *Engine) enterAt(seen int64) bool { return e.inflight.CompareAndSwap(seen, seen+1) }

// grade says how readily a candidate is chosen. A choice begins with the ready ones and widens only when it must.
type grade uint8

const (
	ready   grade = iota
	proving       // on probation with a request on its way whose end will tell: others go first
	failing       // ejected or down: by fail-open only
	gone          // drained: never
)

// grade returns the grade of a candidate of this engine.
func (e *Engine) grade(exempt bool, now time.Time, ramp time.Duration) grade {
	if e.drained.Load() {
		return gone
	}
	h := e.health.Load()
	if h == nil || exempt {
		return ready
	}
	switch h.status(now) {
	case Up:
		return ready
	case Probation:
		// A long answer may take minutes to tell. One that has run for the whole ramp has told enough.
		if e.probes.Load() > 0 && h.ramping(now, ramp) > 0 {
			return proving
		}
		return ready
	}
	return failing
}
