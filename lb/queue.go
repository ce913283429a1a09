package lb

import (
	"container/list"
	"sync"
)

// Queue is the line of requests that wait for a place at a route whose instances are all full: first come, first
// served. It belongs to the route's name and outlives reloads. Safe for any number of goroutines.
type Queue struct {
	mu   sync.Mutex
	line list.List // of *Ticket
}

// Ticket is one request's place in a queue. Leave must be called once it is no longer needed, served or not.
type Ticket struct {
	queue   *Queue
	place   *list.Element
	engines []*Engine
	turn    chan struct{}
}

// Len returns how many requests wait.
func (q *Queue) Len() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.line.Len()
}

// Join puts a request at the end of the line for a place in pool p. It returns nil if most requests wait already.
func (q *Queue) Join(p *Pool, most int) *Ticket {
	q.mu.Lock()
	if q.line.Len() >= most {
		q.mu.Unlock()
		return nil
	}
	t := &Ticket{queue: q, turn: make(chan struct{}, 1)}
	t.place = q.line.PushBack(t)
	q.mu.Unlock()
	for i := range p.candidates {
		t.engines = append(t.engines, p.candidates[i].Engine)
		p.candidates[i].Engine.waited(q, 1)
	}
	// What was full when the request was refused may have room by now, of which no engine told this queue.
	q.Wake()
	return t
}

// Turn receives a value whenever it is worth trying a Pick: the request is at the head of the line, and somewhere a
// place may have become free.
func (t *Ticket) Turn() <-chan struct{} { return t.turn }

// Leave takes the request out of the line. Whoever stands behind it then gets a turn, because there may be more room
// than for one. A second Leave does nothing.
func (t *Ticket) Leave() {
	q := t.queue
	q.mu.Lock()
	if t.place == nil {
		q.mu.Unlock()
		return
	}
	q.line.Remove(t.place)
	t.place = nil
	q.mu.Unlock()
	for _, e := range t.engines {
		e.waited(q, -1)
	}
	q.Wake()
}

// Wake gives the head of the line a turn. Engines do so when they have room; whoever knows of another reason may, too.
func (q *Queue) Wake() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if head := q.line.Front(); head != nil {
		select {
		case head.Value.(*Ticket).turn <- struct{}{}: //nolint:forcetypeassert // the list holds nothing else
		default: // it has a turn that it has not used yet
		}
	}
}

// waiting is who is told when an engine has room again.
type waiting struct {
	mu     sync.Mutex
	queues map[*Queue]int // requests of each that may use this engine
}

// waited adds to how many requests of a queue may use the engine.
func (e *Engine) waited(q *Queue, n int) {
	e.waiting.mu.Lock()
	defer e.waiting.mu.Unlock()
	if e.waiting.queues == nil {
		e.waiting.queues = map[*Queue]int{}
	}
	if e.waiting.queues[q] += n; e.waiting.queues[q] == 0 {
		delete(e.waiting.queues, q)
	}
	e.waiters.Add(int64(n))
}

// roomy tells those who wait that the engine may take a request. It costs a look at a counter if nobody does.
func (e *Engine) roomy() {
	if e.waiters.Load() == 0 {
		return
	}
	e.waiting.mu.Lock()
	queues := make([]*Queue, 0, len(e.waiting.queues))
	for q := range e.waiting.queues {
		queues = append(queues, q)
	}
	e.waiting.mu.Unlock()
	for _, q := range queues {
		q.Wake()
	}
}
