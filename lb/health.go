package lb

import "time"

// HealthPolicy says when a route takes an engine out and how it lets it in again. The state that comes of it belongs
// to the engine: routes that share one see each other's ejections.
type HealthPolicy struct {
	Threshold int           // failures in a row that eject; 0 or less never ejects
	Cooldown  time.Duration // how long an ejection lasts
	Ramp      time.Duration // how long after it the engine is spared, less and less; 0 not at all
	FailOpen  bool          // choose among all candidates when every one of them is out
}

// Outcome is what a request says about the engine that had it.
type Outcome uint8

// The outcomes.
const (
	Neutral Outcome = iota // nothing: a client's error, a client that left
	Served                 // the engine serves
	Failed                 // the engine failed: no connection, no answer in time, 502, 503, 504
)

// Status is whether an engine gets requests.
type Status uint8

// The statuses.
const (
	Up        Status = iota
	Probation        // back after an ejection and not yet proven: one failure ejects again
	Ejected          // out for its failures, until a time
	Down             // out until an active health check succeeds
	Drained          // out until an operator says otherwise
)

var statusNames = [...]string{Up: "up", Probation: "probation", Ejected: "ejected", Down: "down", Drained: "drained"}

// String returns the status as metrics, explain and the admin API write it.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "unknown"
}

// State is the health of an engine at one moment.
type State struct {
	Status Status
	Until  time.Time // end of the ejection if Status is Ejected, else zero
}

// health is what is remembered of an engine's outcomes. Values don't change: what follows from an outcome is a new
// one. A nil health has never failed.
type health struct {
	epoch    uint64 // counts changes of phase, so that a request from before the last one is no evidence now
	phase    phase
	failures int       // in a row, while in
	until    time.Time // end of the last ejection, and start of the ramp; zero if there is nothing to ramp
}

type phase uint8

const (
	in   phase = iota
	out        // ejected until h.until, on probation from then on
	down       // taken out by an active check
)

func (h *health) status(now time.Time) Status {
	switch {
	case h == nil || h.phase == in:
		return Up
	case h.phase == down:
		return Down
	case now.Before(h.until):
		return Ejected
	}
	return Probation
}

// age is the epoch of a health that may be nil.
func (h *health) age() uint64 {
	if h == nil {
		return 0
	}
	return h.epoch
}

// ramping returns how much of the ramp is still to come, from 1 when the ejection has just ended down to 0. It goes on
// after the first success, which says that the engine serves, not that it can bear what the others bear.
func (h *health) ramping(now time.Time, ramp time.Duration) float64 {
	if h == nil || h.until.IsZero() || ramp <= 0 {
		return 0
	}
	passed := now.Sub(h.until)
	if passed < 0 || passed >= ramp {
		return 0
	}
	return 1 - float64(passed)/float64(ramp)
}

// after returns the health that follows from the outcome of a request which began in the given epoch. It returns h
// itself if nothing follows. Failures that arrive during an ejection don't prolong it, and a success then (of a request
// that was let through because every candidate was out) ends it.
func (h *health) after(o Outcome, epoch uint64, now time.Time, p HealthPolicy) *health {
	if o == Neutral || epoch != h.age() || (o == Failed && p.Threshold <= 0) {
		return h
	}
	switch status := h.status(now); {
	case o == Failed && status == Up:
		failures := 1
		if h != nil {
			failures += h.failures
		}
		if failures >= p.Threshold {
			return &health{epoch: epoch + 1, phase: out, until: now.Add(p.Cooldown)}
		}
		next := health{epoch: epoch, failures: failures}
		if h != nil {
			next.until = h.until
		}
		return &next
	case o == Failed && status == Probation:
		return &health{epoch: epoch + 1, phase: out, until: now.Add(p.Cooldown)}
	case o == Served && status == Up && h != nil && h.failures > 0:
		return &health{epoch: epoch, until: h.until}
	case o == Served && status == Probation:
		return &health{epoch: epoch + 1, until: h.until}
	case o == Served && status == Ejected:
		return &health{epoch: epoch + 1}
	}
	return h
}

// failedCheck returns the health after an active check that failed.
func (h *health) failedCheck() *health {
	if h != nil && h.phase == down {
		return h
	}
	return &health{epoch: h.age() + 1, phase: down}
}

// passedCheck returns the health after an active check that succeeded. It ends only what a check began: an engine may
// answer its health path and still fail every request.
func (h *health) passedCheck(now time.Time) *health {
	if h == nil || h.phase != down {
		return h
	}
	return &health{epoch: h.epoch + 1, phase: out, until: now}
}
