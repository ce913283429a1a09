package sim

// Busy returns how many requests the engine has, counted from where its client stands: a request is over as soon as the
// last byte of its answer is about to be sent, or the connection has been closed by either side, whether or not this
// engine has noticed. A client that holds itself to a limit may send the next request at that moment, while Inflight
// still counts the one before. What is returned was true at one instant during the call; under load it may be less than
// the most at any instant of it.
func (e *Engine) Busy() int {
	was := e.turns()
	for {
		is := e.turns()
		if same(was, is) {
			return len(is)
		}
		was = is
	}
}

// turns returns which requests are on, as connections and the number of the turn on each. It does not look at all of
// them in one instant; but what two calls in a row both return was on between them.
func (e *Engine) turns() map[*conn]uint64 {
	e.server.mu.Lock()
	defer e.server.mu.Unlock()
	on := make(map[*conn]uint64)
	for c := range e.conns {
		if turn := c.turn.Load(); turn%2 == 1 && !c.shut.Load() && !hungUp(c.nc) {
			on[c] = turn
		}
	}
	return on
}

func same(a, b map[*conn]uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for c, turn := range a {
		if b[c] != turn {
			return false
		}
	}
	return true
}

// begins and over mark the turn of a request on its connection. Only the connection's own goroutine calls them.
func (c *conn) begins() { c.turn.Add(1) }

func (c *conn) over() {
	if c.turn.Load()%2 == 1 {
		c.turn.Add(1)
	}
}
