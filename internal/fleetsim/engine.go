package fleetsim

import "container/heap"

// slack is how much of a token may be left when it counts as done: sums of times differ in their last bits.
const slack = 1e-6

// engine is one instance at work. Between two events its speeds don't change, so that it is enough to look at it when
// something begins or ends.
type engine struct {
	appointment
	speed  speed
	slots  int
	run    *run
	prompt *cache

	now      float64   // as far as the engine has been followed
	waiting  line      // for a slot
	prompts  line      // have a slot and a prompt to be read, one after the other
	left     float64   // tokens of the first prompt still to be read
	step     float64   // tokens that each answer has got since the start
	answers  answering // have a slot and write
	inflight int       // all of these
}

// speed is how long one step of an engine takes, in seconds. In a step every running answer gets one token, and as many
// tokens of a waiting prompt are read as one chunk has.
type speed struct {
	base   float64 // with answers running
	answer float64 // more for each answer
	chunk  float64 // more with a prompt to be read
	tokens float64 // in a chunk
}

// of returns the length of a step.
func (s *speed) of(answers int, reading bool) float64 {
	var t float64
	if answers > 0 {
		t = s.base + float64(answers)*s.answer
	}
	if reading {
		t += s.chunk
	}
	return t
}

// add takes a request in.
func (e *engine) add(r *request, now float64) {
	e.follow(now)
	e.inflight++
	e.waiting.push(r)
	e.admit()
	e.plan()
}

func (e *engine) at() *appointment { return &e.appointment }

// act ends what ends now.
func (e *engine) act(now float64) {
	e.follow(now)
	if r := e.prompts.first(); r != nil && e.left <= slack {
		e.prompts.pop()
		e.read(r)
		if next := e.prompts.first(); next != nil {
			e.begin(next)
		}
	}
	for len(e.answers) > 0 && e.answers[0].ends <= e.step+slack {
		e.finish(heap.Pop(&e.answers).(*request)) //nolint:forcetypeassert // the heap holds nothing else
	}
	e.admit()
	e.plan()
}

// follow brings the engine to a time before which nothing ends.
func (e *engine) follow(now float64) {
	passed := now - e.now
	e.now = now
	length := e.speed.of(len(e.answers), e.prompts.first() != nil)
	if length <= 0 {
		return
	}
	e.step += passed / length
	if e.prompts.first() != nil {
		e.left -= passed / length * e.speed.tokens
	}
}

// admit gives slots to those who wait, as far as there are any.
func (e *engine) admit() {
	for e.waiting.first() != nil && e.prompts.len()+len(e.answers) < e.slots {
		r := e.waiting.pop()
		e.prompts.push(r)
		if e.prompts.len() == 1 {
			e.begin(r)
		}
	}
}

// begin looks up what is cached of a prompt, and begins to read the rest.
func (e *engine) begin(r *request) {
	r.cached = r.prompt.cached(e.prompt)
	e.left = float64(r.prompt.tokens() - r.cached)
}

// read ends the reading of a prompt, which is when the first token of the answer comes.
func (e *engine) read(r *request) {
	r.prompt.put(e.prompt, 0)
	e.run.first(r, e.now)
	if r.answer <= 1 {
		e.finish(r)
		return
	}
	r.ends = e.step + float64(r.answer-1)
	heap.Push(&e.answers, r)
}

func (e *engine) finish(r *request) {
	r.prompt.put(e.prompt, r.answer)
	e.inflight--
	e.run.done(r, e.now)
}

// plan makes the appointment for what ends next.
func (e *engine) plan() {
	reading := e.prompts.first() != nil
	if !reading && len(e.answers) == 0 {
		e.run.calendar.cancel(e)
		return
	}
	steps := -1.0
	if reading {
		steps = e.left / e.speed.tokens
	}
	if len(e.answers) > 0 {
		if until := e.answers[0].ends - e.step; steps < 0 || until < steps {
			steps = until
		}
	}
	e.run.calendar.set(e, e.now+max(0, steps)*e.speed.of(len(e.answers), reading))
}

// answering is the running answers, a heap by the step in which they end.
type answering []*request

func (a answering) Len() int { return len(a) }
func (a answering) Less(i, j int) bool {
	return a[i].ends < a[j].ends || (a[i].ends == a[j].ends && a[i].number < a[j].number)
}
func (a answering) Swap(i, j int) { a[i], a[j] = a[j], a[i] }

// Push implements heap.Interface.
func (a *answering) Push(r any) { *a = append(*a, r.(*request)) } //nolint:forcetypeassert // nothing else is pushed

// Pop implements heap.Interface.
func (a *answering) Pop() any {
	last := len(*a) - 1
	r := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return r
}

// line is requests in the order of their arrival.
type line struct {
	requests []*request
	head     int
}

func (l *line) len() int { return len(l.requests) - l.head }

func (l *line) push(r *request) { l.requests = append(l.requests, r) }

func (l *line) first() *request {
	if l.len() == 0 {
		return nil
	}
	return l.requests[l.head]
}

func (l *line) pop() *request {
	r := l.requests[l.head]
	l.requests[l.head] = nil
	l.head++
	if 2*l.head >= len(l.requests) { // so that a line that is never empty doesn't grow
		n := copy(l.requests, l.requests[l.head:])
		clear(l.requests[n:])
		l.requests, l.head = l.requests[:n], 0
	}
	return r
}
