package sim

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
)

// Options are what an engine is started with.
type Options struct {
	Behaviour Behaviour
	Hook      func(*Request) Behaviour // nil: Behaviour for every request
	Base      string                   // path before the API's own, such as "/api"; others get 404
	// NoRecord is for benchmarks: no requests are kept, and a body is not checked for being valid JSON. The request
	// that a hook sees is only valid while the hook runs.
	NoRecord bool
}

// Engine is a simulated inference engine on a socket.
type Engine struct {
	*server
	base      string
	endpoints map[string]endpoint
	route     func(*exchange) // answers what is not broken by a fault or answered by a Status
	shape     errorShape
	behaviour atomic.Pointer[Behaviour]
	hook      atomic.Pointer[func(*Request) Behaviour]
	ids       atomic.Int64
	changing  sync.Mutex
	stored    store
}

// Start starts an engine on a TCP address; "127.0.0.1:0" takes a free port.
func Start(addr string, o Options) (*Engine, error) {
	e := &Engine{base: o.Base, endpoints: endpoints(), route: (*exchange).route, shape: (*exchange).appendAPIError}
	if err := e.start(addr, o); err != nil {
		return nil, err
	}
	return e, nil
}

func (e *Engine) start(addr string, o Options) error {
	e.behaviour.Store(&o.Behaviour)
	e.Hook(o.Hook)
	var err error
	if e.server, err = newServer(addr, o.NoRecord, e.serve); err != nil {
		return err
	}
	if o.Behaviour.Fault.Kind == Refuse {
		if err := e.refuse(true); err != nil {
			e.Close()
			return err
		}
	}
	return nil
}

// URL returns what a client of the engine is configured with, without the /v1 of the API.
func (e *Engine) URL() string { return "http://" + e.Addr() + e.base }

// Set changes the behaviour for requests that come from now on. It panics if the engine should listen again and cannot.
func (e *Engine) Set(b Behaviour) {
	e.changing.Lock()
	defer e.changing.Unlock()
	e.behaviour.Store(&b)
	if err := e.refuse(b.Fault.Kind == Refuse); err != nil {
		panic(err)
	}
}

// Behaviour returns what was set last.
func (e *Engine) Behaviour() Behaviour { return *e.behaviour.Load() }

// Hook makes f decide the behaviour of each request, once it has been read; nil ends that. What must be known earlier
// or outlasts a request is taken from Set all the same: Refuse, ResetRequest, AnswerEarly and CloseIdleAfter. f is
// called by many goroutines and must not change the request.
func (e *Engine) Hook(f func(*Request) Behaviour) {
	if f == nil {
		e.hook.Store(nil)
		return
	}
	e.hook.Store(&f)
}

// serve is the life of a connection.
func (e *Engine) serve(c *conn) {
	for {
		limit := e.behaviour.Load().CloseIdleAfter
		if c.served == 0 {
			limit = 0
		}
		if !c.next(limit) {
			return
		}
		q := c.request()
		c.served++
		if !e.exchange(c, q) {
			return
		}
	}
}

// exchange reads and answers one request. It reports whether the connection can take another.
func (e *Engine) exchange(c *conn, q *Request) bool {
	b := e.behaviour.Load()
	err := c.readHead(q)
	length := 0
	if err == nil {
		length, err = bodyLength(q)
	}
	if err == nil && b.Fault.Kind != AnswerEarly {
		limit := -1
		if b.Fault.Kind == ResetRequest {
			limit = b.Fault.After
		}
		err = c.readBody(q, length, limit)
	}
	if err != nil && q.Method == "" && !errors.Is(err, errMalformed) {
		return false // not even a head
	}
	x := exchange{e: e, c: c, q: q, s: &c.script}
	x.peek()
	e.begin(q)
	c.begins()
	x.s.reset()
	c.status = 0
	through, reusable := false, false
	switch {
	case errors.Is(err, errMalformed):
		x.b = &Behaviour{Fault: Fault{Kind: AnswerEarly}}
		x.fail(400, "", "", err.Error())
		through, reusable = c.play(q, x.b)
	case err != nil:
		c.lost()
	default:
		through, reusable = x.answer(e.decide(b, q))
	}
	c.over()
	e.end(q, c.status, through, c.gone)
	c.untimed()
	if through && x.b.Fault.Kind == AnswerEarly {
		c.linger()
	}
	return reusable
}

// decide returns the behaviour for a request that has been read.
func (e *Engine) decide(set *Behaviour, q *Request) *Behaviour {
	switch f := e.hook.Load(); {
	case f == nil, set.Fault.Kind == ResetRequest, set.Fault.Kind == AnswerEarly:
		return set
	default:
		b := (*f)(q)
		return &b
	}
}

// exchange is one request and the making of its answer.
type exchange struct {
	e *Engine
	c *conn
	q *Request
	b *Behaviour
	s *script

	members members // of a JSON body
}

func (x *exchange) answer(b *Behaviour) (through, reusable bool) {
	x.b = b
	switch kind := b.Fault.Kind; {
	case kind == Silent, kind == ResetRequest,
		x.c.served > 1 && (kind == ResetReused || kind == CloseReused):
		x.c.fail(b)
		return false, false
	}
	if b.Status == 0 {
		x.e.route(x)
	} else {
		x.canned()
	}
	through, reusable = x.c.play(x.q, b)
	if b.CloseAfterRequests > 0 && x.c.served >= b.CloseAfterRequests {
		reusable = false
	}
	return through, reusable
}

// canned answers with the behaviour's own status and body.
func (x *exchange) canned() {
	b := x.b
	if b.Body == "" && b.Status >= 400 {
		x.fail(b.Status, "", "", fmt.Sprintf("The engine was told to answer %d.", b.Status))
	} else {
		x.s.status = b.Status
		x.s.buf = append(x.s.buf, b.Body...)
	}
	for _, h := range b.Header {
		if strings.EqualFold(h.Name, "Content-Type") {
			x.s.ctype = h.Value
		} else {
			x.s.fields = append(x.s.fields, h)
		}
	}
	if x.s.stream = isEventStream(x.s.ctype); x.s.stream {
		x.s.pieces = x.s.pieces[:0]
		x.s.splitEvents()
	} else {
		x.s.put(atOnce)
	}
}
