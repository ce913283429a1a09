// Package systemone asks decision services over HTTP (POST {endpoint}/v1/systemone). It carries questions and answers as
// bytes, and makes sure that asking is cheap: equal questions that are asked at once share one call, answers are
// remembered for a while, and a service that has failed is left alone until it answers again.
package systemone

import (
	"bytes"
	"context"
	"crypto/sha256"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// Question is a question to a service.
type Question struct {
	Service  string                       // its name, for people
	Endpoint string                       // base URL without a slash at its end; a path is kept
	Token    interface{ Reveal() string } // for "Authorization: Bearer"; reveals "" if there is none
	Body     []byte                       // of the request; not kept when Ask has returned
	Timeout  time.Duration                // over 0
	Keep     time.Duration                // how old a remembered answer may be; 0 neither takes nor leaves one

	// Accept says what is wrong with an answer, in one of a few words. Such an answer is not remembered, and counts as
	// the service's failure. It depends on nothing but the answer and the body, and may be called after Ask has
	// returned.
	Accept func(answer []byte) error
}

// Config is what a client is told of its surroundings. Every field may be left out.
type Config struct {
	Now      func() time.Time   // for the age of answers and the circuits; time.Now by default
	Asked    func(Event)        // called at the end of every Ask; must not wait
	Switched func(ServiceState) // called when a circuit has opened or closed; must not wait
}

// Event is how one Ask ended. It holds nothing of what was asked or answered.
type Event struct {
	Service string
	Result  Result
	Joined  bool // it waited for a call that somebody else had begun
	Took    time.Duration
	Err     *Error // nil if there was an answer
}

// Label returns the result, and for an answer that is not believed the reason: one of a small set, for a metric.
func (e *Event) Label() string {
	if e.Err != nil && e.Err.Reason != "" {
		return e.Err.Reason
	}
	return string(e.Result)
}

// ServiceState is what the client knows of a service: an endpoint with a token.
type ServiceState struct {
	Service  string // the name it was last asked by
	Endpoint string
	Circuit  Circuit
	Failures int       // in a row
	Until    time.Time // end of the cool-down; zero if the circuit is closed
}

// Services come and go with configurations that the client doesn't know, so those asked last are remembered, and one that
// nobody has asked for a while is not shown any more.
const (
	maxServices = 256
	forgotten   = time.Hour
)

// digest is the identity of a service, or of a question to one. Services and questions are kept by nothing else, so that
// neither tokens nor texts stay in memory.
type digest [sha256.Size]byte

// Client asks services. There is one in a process, and it outlives every configuration. Safe for any number of
// goroutines.
type Client struct {
	config    Config
	transport *http.Transport
	life      context.Context //nolint:containedctx // the client's own, which every call is a part of
	end       context.CancelFunc
	running   sync.WaitGroup // calls

	mu       sync.Mutex
	closed   bool
	calls    map[callKey]*call
	cache    *cache
	services *simplelru.LRU[digest, *service]
}

// service is one that was asked.
type service struct {
	name, endpoint string
	asked          time.Time // last
	circuit        circuit
}

// New returns a client, to be closed.
func New(c Config) *Client {
	if c.Now == nil {
		c.Now = time.Now
	}
	life, end := context.WithCancel(context.Background())
	return &Client{config: c, transport: newTransport(life), life: life, end: end, calls: map[callKey]*call{},
		cache: newCache(maxEntries, maxBytes), services: newLRU[digest, *service](maxServices, nil)}
}

// Close cancels all calls, closes all connections, and returns when both are done. Later questions are not asked.
func (c *Client) Close() {
	c.mu.Lock()
	c.closed = true
	c.mu.Unlock()
	c.end()
	c.running.Wait()
	c.transport.CloseIdleConnections()
}

// States returns what is known of the services that were asked within an hour, by name and endpoint.
func (c *Client) States() []ServiceState {
	now := c.config.Now()
	c.mu.Lock()
	defer c.mu.Unlock()
	states := make([]ServiceState, 0, c.services.Len())
	for _, s := range c.services.Values() {
		if now.Sub(s.asked) < forgotten {
			states = append(states, s.state(now))
		}
	}
	slices.SortStableFunc(states, func(a, b ServiceState) int {
		if by := strings.Compare(a.Service, b.Service); by != 0 {
			return by
		}
		return strings.Compare(a.Endpoint, b.Endpoint)
	})
	return states
}

func (s *service) state(now time.Time) ServiceState {
	return ServiceState{Service: s.name, Endpoint: s.endpoint, Circuit: s.circuit.state(now),
		Failures: s.circuit.failures, Until: s.circuit.until}
}

// Ask returns the answer to a question, which must not be changed. It waits no longer than the question's timeout, and
// returns at once when ctx ends. The error is an *Error.
func (c *Client) Ask(ctx context.Context, q Question) ([]byte, error) {
	began := c.config.Now()
	answer, result, joined, fault := c.ask(ctx, &q, began)
	if c.config.Asked != nil {
		c.config.Asked(Event{Service: q.Service, Result: result, Joined: joined, Took: c.config.Now().Sub(began), Err: fault})
	}
	if fault != nil {
		return nil, fault
	}
	return answer, nil
}

func (c *Client) ask(ctx context.Context, q *Question, now time.Time) (answer []byte, r Result, joined bool, fault *Error) {
	asked, question := digests(q)
	key := callKey{question, q.Timeout}
	c.mu.Lock()
	s := c.service(asked, q, now)
	answer, cached := c.cache.get(question, q.Keep, now)
	var running *call
	switch {
	case cached:
	case c.closed || ctx.Err() != nil:
		fault = cancelledError()
	case c.calls[key] != nil:
		running, joined = c.calls[key], true
	default:
		running, fault = c.call(key, s, q, now)
	}
	if running != nil {
		running.join(q)
	}
	c.mu.Unlock()

	if running != nil {
		answer, fault = c.wait(ctx, running)
	}
	switch {
	case fault != nil:
		named := *fault // shared by all who waited
		named.Service = q.Service
		return nil, named.Result, joined, &named
	case cached:
		return answer, Cached, false, nil
	case joined:
		return answer, Shared, true, nil
	}
	return answer, Answered, false, nil
}

// service returns the service of a question. c.mu is held.
func (c *Client) service(id digest, q *Question, now time.Time) *service {
	s, ok := c.services.Get(id)
	if !ok {
		s = &service{endpoint: q.Endpoint}
		c.services.Add(id, s)
	}
	s.name, s.asked = q.Service, now
	return s
}

// digests returns the identities of a question's service and of the question. Nothing in them can be mistaken for
// something else: the service's has a fixed length, and its parts are hashed on their own.
func digests(q *Question) (service, question digest) {
	endpoint, token := sha256.Sum256([]byte(q.Endpoint)), sha256.Sum256([]byte(q.Token.Reveal()))
	service = sha256.Sum256(bytes.Join([][]byte{endpoint[:], token[:]}, nil))
	h := sha256.New()
	h.Write(service[:])
	h.Write(q.Body)
	h.Sum(question[:0])
	return service, question
}
