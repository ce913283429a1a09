package fleetsim

// actor is who does something at a time: an engine, an agent, the stream of chats. It has at most one appointment.
type actor interface {
	act(now float64)
	at() *appointment
}

// appointment is an actor's entry in the calendar.
type appointment struct {
	time  float64 // seconds since the start
	order uint64  // of making it: the earlier one goes first at the same time
	place int     // in the heap, plus 1; 0 is none
}

// calendar is the appointments, a binary heap by time.
type calendar struct {
	heap []actor
	made uint64
}

// set makes an actor's appointment, in place of one it may have.
func (c *calendar) set(a actor, time float64) {
	at := a.at()
	c.made++
	at.time, at.order = time, c.made
	if at.place == 0 {
		c.heap = append(c.heap, a)
		at.place = len(c.heap)
	}
	c.down(c.up(at.place - 1))
}

// cancel takes an actor's appointment out, if it has one.
func (c *calendar) cancel(a actor) {
	at := a.at()
	if at.place == 0 {
		return
	}
	i, last := at.place-1, len(c.heap)-1
	c.swap(i, last)
	c.heap[last] = nil
	c.heap = c.heap[:last]
	at.place = 0
	if i < last {
		c.down(c.up(i))
	}
}

// next takes out the earliest appointment. It returns nil if there is none.
func (c *calendar) next() (a actor, time float64) {
	if len(c.heap) == 0 {
		return nil, 0
	}
	a = c.heap[0]
	c.cancel(a)
	return a, a.at().time
}

func (c *calendar) before(i, j int) bool {
	a, b := c.heap[i].at(), c.heap[j].at()
	return a.time < b.time || (a.time == b.time && a.order < b.order)
}

func (c *calendar) swap(i, j int) {
	c.heap[i], c.heap[j] = c.heap[j], c.heap[i]
	c.heap[i].at().place, c.heap[j].at().place = i+1, j+1
}

func (c *calendar) up(i int) int {
	for i > 0 && c.before(i, (i-1)/2) {
		c.swap(i, (i-1)/2)
		i = (i - 1) / 2
	}
	return i
}

func (c *calendar) down(i int) {
	for {
		child := 2*i + 1
		if child+1 < len(c.heap) && c.before(child+1, child) {
			child++
		}
		if child >= len(c.heap) || !c.before(child, i) {
			return
		}
		c.swap(i, child)
		i = child
	}
}
