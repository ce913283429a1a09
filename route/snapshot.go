// Package route turns the routes file, bytes that an operator wrote, into a snapshot of what is routed, and exchanges one
// snapshot for another.
package route

import (
	"crypto/sha256"
	"errors"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/lb"
)

// Snapshot is everything the data path needs to know, built together from one file and never changed.
type Snapshot struct {
	Generation   uint64    // counts the snapshots of a table, from 1; 0 if it is not of a table
	Loaded       time.Time // when it began to serve
	MaxBodyBytes int64     // the largest of any route; 0 is unlimited
	Public       bool      // a route needs no key

	routes    []*Route
	byName    map[string]*Route
	keys      map[[sha256.Size]byte]*key
	addresses []Address
	engines   []*lb.Engine
	checks    []Check
	providers map[string]Upstream
	text      []byte    // of the file
	problems  []Problem // of it; none is at file level
}

// Checks returns the health checks of the models that have one, each engine at most once for a URL.
func (s *Snapshot) Checks() []Check { return s.checks }

// Routes returns the routes in the order of the file, the unusable ones among them. They must not be changed.
func (s *Snapshot) Routes() []*Route { return s.routes }

// Route returns the route of a name, nil if there is none. It does not allocate.
func (s *Snapshot) Route(name []byte) *Route { return s.byName[string(name)] }

// Addresses returns every address that requests are sent to, without duplicates. A decision service is among them only
// if it is a target. They must not be changed.
func (s *Snapshot) Addresses() []Address { return s.addresses }

// ErrKey is returned for a credential that is unknown or has expired.
var ErrKey = errors.New("the API key is unknown or has expired")

// Caller returns who presents a secret at a moment; an empty secret is nobody, without an error. It does not allocate.
func (s *Snapshot) Caller(presented []byte, now time.Time) (Caller, error) {
	if len(presented) == 0 {
		return Caller{}, nil
	}
	k := s.keys[sha256.Sum256(presented)]
	if k == nil || (!k.expires.IsZero() && !now.Before(k.expires)) {
		return Caller{}, ErrKey
	}
	return Caller{k}, nil
}

// Users returns whose keys there are.
func (s *Snapshot) Users() map[string]bool {
	users := make(map[string]bool, len(s.keys))
	for _, k := range s.keys {
		users[k.user] = true
	}
	return users
}

// May reports whether a caller may use a route. It does not allocate.
func (s *Snapshot) May(c Caller, r *Route) bool {
	switch {
	case r.Access == Public:
		return true
	case c.key == nil || (c.key.routes != nil && !c.key.routes[r.Name]):
		return false
	case r.Access == AllowedUsers:
		return r.users[c.key.user]
	}
	return r.Access == Authed
}

// key is an API key.
type key struct {
	name, user string
	expires    time.Time       // zero is never
	routes     map[string]bool // that it is narrowed to; nil is all
}

// Caller is who sends a request. The zero value is somebody without a key.
type Caller struct{ key *key }

// Name returns the name of the caller's key, and "" without one.
func (c Caller) Name() string {
	if c.key == nil {
		return ""
	}
	return c.key.name
}

// User returns whose key it is.
func (c Caller) User() string {
	if c.key == nil {
		return ""
	}
	return c.key.user
}

// Route is one name and everything that decides who answers for it. Immutable.
type Route struct {
	Name        string
	Description string
	Categories  []string
	Access      Access
	By          lb.By  // derived also for a route that can't serve, except with weights on some targets only
	Reason      string // why the route can't serve, empty if it can

	Pool      *lb.Pool   // nil if the route can't serve
	Upstreams []Upstream // by position of the candidate in the pool
	Fallbacks []Fallback // in the order written

	Timeouts     Timeouts
	Retry        Retry
	MaxBodyBytes int64 // 0 is unlimited
	DebugHeaders bool
	Queue        Queue
	InjectUsage  bool          // ask engines for the usage of streamed chats, and hide that from clients that did not
	Heartbeat    time.Duration // of silence in a stream after which the client is told that it still runs; 0 is never

	users map[string]bool // who may, if Access is AllowedUsers
}

// Public reports whether no key is needed.
func (r *Route) Public() bool { return r.Access == Public }

// Fallback is a fallback target.
type Fallback struct {
	Pool      *lb.Pool // round robin over the target's instances
	Upstreams []Upstream
	Codes     Codes
}

// Upstream is how a candidate is reached.
type Upstream struct {
	Target     string // name of the model or provider
	Instance   string
	Key        uint64 // lb.Candidate.Key of the candidate
	Model      string // the name that is asked for
	Address    Address
	Header     string        // name of the header that takes the credential, "" for none
	Credential secret.String // value of that header, scheme included
}

// Timeouts are limits; 0 is none.
type Timeouts struct{ Connect, FirstByte, Idle, ClientStall time.Duration }

// Retry bounds the attempts of a request.
type Retry struct {
	MaxAttempts int           // at least 1
	Deadline    time.Duration // after a request's arrival no attempt is started; 0 is none
	StatusCodes Codes

	// PeekFirstEvent holds the head of a stream back until its first event that says something, so that an error there
	// can still go to somebody else.
	PeekFirstEvent bool
}

// Queue is how requests wait for a place where every instance is full, instead of being refused.
type Queue struct {
	Line    *lb.Queue // nil: they don't
	Max     int       // requests that may wait; at least 1
	Timeout time.Duration
}

// Check is how an engine is asked whether it is well.
type Check struct {
	Engine   *lb.Engine
	URL      string
	Interval time.Duration
}
