package lb

import (
	"errors"
	"time"
)

// errNobody says that no candidate of the grades asked for is left to try.
var errNobody = errors.New("no candidate")

// choice is one decision of a pool for a request, taken (lease set) or only looked at (lease nil): then nothing is
// counted, nothing advances and no dice are thrown.
type choice struct {
	pool      *Pool
	request   *Request
	now       time.Time
	widest    grade // candidates of up to this grade are chosen among
	lease     *Lease
	*workings      // to be written down for a person, if not nil
	passed    bool // a candidate was passed over for being proven at this moment
	keeps     bool // the request kept to a candidate, so nobody voted
}

// make chooses among the ready candidates, then also among those that are just being proven, and among all when all
// are out and the pool fails open.
func (c *choice) make() (int, error) {
	if i := c.kept(); i >= 0 {
		c.widest, c.keeps = proving, true
		c.survey() // nobody votes, but who looks on sees the counts
		if c.take(i, anySeen) {
			return i, nil
		}
		return 0, ErrFull
	}
	c.widest, c.passed = ready, false
	i, err := c.once()
	if err != nil && c.passed {
		c.widest = proving
		i, err = c.once()
	}
	if err != errNobody {
		return i, err
	}
	p, r := c.pool, c.request
	for i := range p.candidates {
		if p.grade(i, c.now) <= proving {
			return 0, ErrNone // for it has been tried
		}
	}
	if p.health.FailOpen {
		c.widest = failing
		if i, err = c.once(); err != errNobody {
			return i, err
		}
	}
	if r.tries > 0 && r.tries == len(p.candidates) {
		return 0, ErrNone
	}
	return 0, ErrDown
}

// kept returns the candidate that the request keeps to, and -1 if there is none or it can't serve.
func (c *choice) kept() int {
	if !c.request.keeps {
		return -1
	}
	for i := range c.pool.candidates {
		if c.pool.candidates[i].Key == c.request.keep && !c.request.tried[i] && c.pool.grade(i, c.now) <= proving {
			return i
		}
	}
	return -1
}

func (c *choice) once() (int, error) {
	if c.pool.by == Policy {
		return c.vote()
	}
	return c.rotate()
}

// grade returns the grade of candidate i.
func (p *Pool) grade(i int, now time.Time) grade {
	c := &p.candidates[i]
	return c.Engine.grade(c.Exempt, now, p.health.Ramp)
}

// live reports whether candidate i may be chosen, apart from its limit.
func (c *choice) live(i int) bool {
	if c.request.tried[i] {
		return false
	}
	g := c.pool.grade(i, c.now)
	if g == proving && c.widest < proving {
		c.passed = true
	}
	return g <= c.widest
}

// anySeen is the count to take a place at whatever the count is.
const anySeen = -1

// take counts the place of live candidate i, within its limit and, unless anySeen, on condition that its engine still
// has as many requests as were seen. It reports whether it did, or would have.
func (c *choice) take(i int, seen int64) bool {
	e, limit := c.pool.candidates[i].Engine, c.pool.candidates[i].Limit
	if c.lease == nil {
		return limit <= 0 || e.Inflight() < limit
	}
	h := e.health.Load()
	probe := h != nil && !c.pool.candidates[i].Exempt && h.status(c.now) == Probation
	if probe && e.probes.Add(1) > 1 && c.widest < proving && h.ramping(c.now, c.pool.health.Ramp) > 0 {
		e.probes.Add(-1) // somebody else was faster to prove it
		c.passed = true
		return false
	}
	var taken bool
	if seen == anySeen {
		taken = e.enter(limit)
	} else {
		taken = e.enterAt(seen)
	}
	if !taken {
		if probe {
			e.probes.Add(-1)
		}
		return false
	}
	l := c.lease
	l.pool, l.index, l.by, l.epoch, l.probe = c.pool, i, -1, h.age(), probe
	l.held.Store(true)
	return true
}
