package systemone

import "time"

// When a service's circuit opens, and for how long. A service that is down costs that many requests their timeout, and
// then one in each cool-down.
const (
	threshold = 3 // failures in a row
	coolDown  = 10 * time.Second
)

// Circuit is whether a service is asked.
type Circuit string

// The states of a circuit.
const (
	Closed   Circuit = "closed"    // it is asked
	Open     Circuit = "open"      // it is not, until a time
	HalfOpen Circuit = "half_open" // the time has come: one question at a time, until one is answered
)

// circuit keeps questions from a service that has failed. The zero value is closed.
type circuit struct {
	failures int       // in a row, while closed
	until    time.Time // when the cool-down ends; zero while closed
	probing  bool      // a question is on its way that will tell
	epoch    uint64    // changes whenever the circuit opens or closes
}

// ticket is the leave to ask once. Questions outlive what was known when they were asked: the end of one from an earlier
// epoch says nothing.
type ticket struct {
	epoch uint64
	probe bool
}

func (c *circuit) state(now time.Time) Circuit {
	switch {
	case c.until.IsZero():
		return Closed
	case now.Before(c.until):
		return Open
	}
	return HalfOpen
}

// admit gives leave to ask, or refuses. After the cool-down it gives leave to one at a time.
func (c *circuit) admit(now time.Time) (t ticket, ok bool) {
	t.epoch = c.epoch
	switch c.state(now) {
	case Closed:
		return t, true
	case HalfOpen:
		if !c.probing {
			c.probing, t.probe = true, true
			return t, true
		}
	}
	return t, false
}

// learn takes how a question ended, once for each ticket, and reports whether it opened or closed the circuit. An end
// that says nothing about the service (neutral) only makes room for another probe.
func (c *circuit) learn(t ticket, e effect, now time.Time) (switched bool) {
	if t.epoch != c.epoch {
		return false
	}
	if t.probe {
		c.probing = false
	}
	switch e {
	case good:
		if !t.probe {
			c.failures = 0
			return false
		}
		*c = circuit{epoch: c.epoch + 1}
		return true
	case bad:
		if c.failures++; c.failures < threshold && !t.probe {
			return false
		}
		*c = circuit{failures: c.failures, until: now.Add(coolDown), epoch: c.epoch + 1}
		return true
	}
	return false
}
