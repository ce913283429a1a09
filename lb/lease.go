package lb

import (
	"sync/atomic"
	"time"
)

// Lease is a place at a candidate's engine: counted in flight from Pick to Done. The zero value is ready for a Pick,
// and so is a lease whose place was given back. It must not be copied. Done may race with itself, nothing else may.
type Lease struct {
	held  atomic.Bool
	pool  *Pool
	index int
	by    int    // vote that decided, -1 if none did
	epoch uint64 // of the engine's health when the request began
	probe bool   // the request proves an engine on probation
}

// Held reports whether the place is taken and not yet given back.
func (l *Lease) Held() bool { return l.held.Load() }

// Index returns the position of the candidate in its pool. It is valid after a successful Pick, also after Done.
func (l *Lease) Index() int { return l.index }

// Candidate returns the chosen candidate, and nil before the first successful Pick.
func (l *Lease) Candidate() *Candidate {
	if l.pool == nil {
		return nil
	}
	return &l.pool.candidates[l.index]
}

// By returns the name of the plugin that decided: of all votes, the one that gave the chosen candidate the most over
// the next best that had room. It is "" if no vote did: the rotation chose, or a tie was broken, or there was no other.
func (l *Lease) By() string {
	if l.pool == nil || l.by < 0 {
		return ""
	}
	return l.pool.votes[l.by].Name
}

// Done gives the place back and tells how the request went; ejected reports that this ejected the engine. A second
// Done does nothing.
func (l *Lease) Done(o Outcome, now time.Time) (ejected bool) {
	if !l.held.CompareAndSwap(true, false) {
		return false
	}
	c := &l.pool.candidates[l.index]
	// What was learnt counts before the place is free, so that nobody takes it for the place of a healthy engine.
	if o != Neutral && !c.Exempt {
		ejected = c.Engine.learn(o, l.epoch, now, l.pool.health)
	}
	if l.probe {
		c.Engine.probes.Add(-1)
	}
	c.Engine.inflight.Add(-1)
	c.Engine.roomy()
	return ejected
}
