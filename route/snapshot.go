// Package route turns the routes file, bytes that an operator wrote, into a snapshot of what is routed, and exchanges one
// snapshot for another.
package route

import (
	"errors"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/secret"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins"
)

// Snapshot is everything the data path needs to know, built together from one file and never changed.
type Snapshot struct {
	Generation   uint64
	Loaded       time.Time
	MaxBodyBytes int64 // the largest of any route; 0 is unlimited
}

// Routes returns the routes in the order of the file, the unusable ones among them.
func (s *Snapshot) Routes() []*Route { return nil }

// Route returns the route of a name, nil if there is none. It does not allocate.
func (s *Snapshot) Route(name []byte) *Route { return nil }

// Addresses returns every address that requests are sent to, without duplicates (decision services not among them).
func (s *Snapshot) Addresses() []Address { return nil }

// ErrKey is returned for a credential that is unknown or has expired.
var ErrKey = errors.New("the API key is unknown or has expired")

// Caller returns who presents a secret at a moment; an empty secret is nobody, without an error. It does not allocate.
func (s *Snapshot) Caller(secret []byte, now time.Time) (Caller, error) { return Caller{}, nil }

// May reports whether a caller may use a route.
func (s *Snapshot) May(c Caller, r *Route) bool { return false }

// Caller is who sends a request. The zero value is somebody without a key.
type Caller struct{}

// Name returns the name of the caller's key, and "" without one.
func (c Caller) Name() string { return "" }

// User returns whose key it is.
func (c Caller) User() string { return "" }

// Route is one name and everything that decides who answers for it. Immutable.
type Route struct {
	Name        string
	Description string
	Categories  []string
	By          lb.By
	Reason      string // why the route can't serve, empty if it can

	Pool      *lb.Pool   // nil if the route can't serve
	Upstreams []Upstream // by position of the candidate in the pool
	Fallbacks []Fallback // in the order written

	Timeouts     Timeouts
	Retry        Retry
	MaxBodyBytes int64 // 0 is unlimited
	DebugHeaders bool
}

// Public reports whether no key is needed.
func (r *Route) Public() bool { return false }

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
}

// Options are what a snapshot is built with.
type Options struct {
	Kinds     []plugins.Kind
	Fleet     *lb.Fleet
	Rand      lb.Rand
	LookupEnv func(name string) (string, bool)
	OnSwap    func(*Snapshot) // called after a new snapshot serves; may be nil
}
