package lb

import (
	"context"
	"time"

	"github.com/gpustack/gpustack-gateway/openai"
)

// Engine is what is happening at one engine process, or at one provider: requests in flight and health. It is
// identified by its URL, shared by every route that reaches it, and outlives reloads.
type Engine struct {
	url string
	// inflight atomic.Int64; health
}

// Candidate is one way to serve a route: an instance reached as one target. Immutable.
type Candidate struct {
	Target   int     // position among the pool's targets
	Instance string  // name of the instance; a provider's name for a provider
	Model    string  // model name that the upstream is asked for; the name a decision service chooses among
	Key      uint64  // hash of (target, instance), made once when built; see CandidateKey
	Limit    int64   // max_inflight of the engine; 0 is unlimited
	Exempt   bool    // a provider: never ejected
	Engine   *Engine
}

// Header is the read side of a request's headers. *fasthttp.RequestHeader is one. Peek is case-insensitive and
// returns the first value, or nil.
type Header interface{ Peek(name string) []byte }

// Rand returns uniformly distributed random bits. math/rand/v2.Uint64 is one.
type Rand func() uint64

// Request is what a vote may know of a request, with the scratch space that a pick needs. One Request serves all
// attempts of one request, and may be used again for another after Reset.
type Request struct {
	Endpoint *openai.Endpoint
	Call     *openai.Call
	Header   Header
	// notes of the preparers and marks of the voters, tried candidates, scratch slices: unexported
}

// Voter scores the candidates of one request. Vote must not wait, change anything outside the ballot, keep the ballot
// or allocate: explain calls it as well.
type Voter interface{ Vote(b *Ballot) }

// Ballot is one voter's sheet for one request.
type Ballot struct {
	Request    *Request
	Candidates []Candidate
	Live       []bool    // candidates that take part: neither ejected, nor tried, nor drained
	Load       []float64 // in-flight plus penalty, read once for all voters
	Scores     []float64 // to be filled; zero on entry: all zero abstains. Negative, NaN and infinite count as 0
	Strength   float64   // factor on the voter's weight, 1 on entry
	PerModel   bool      // normalise over distinct models instead of over candidates
	Note       any       // what this voter's Prepare returned for this request, nil if it has none
	Reason     string    // set by the voter only when explaining (Explain is true): what it went by, or why it abstained
	Explain    bool
}

// Preparer is a Voter that has to find something out first, once a request and before anything is counted: the only
// place where a policy may wait. It returns early when ctx ends.
type Preparer interface {
	Prepare(ctx context.Context, r *Request, candidates []Candidate, live []bool) (note any)
}

// Follower is a Voter that learns from the choice.
type Follower interface {
	Picked(p Picked)
}

// Picked tells a Follower what was chosen.
type Picked struct {
	Request    *Request
	Candidates []Candidate
	Index      int  // of the chosen candidate
	ByModel    bool // a vote per model took part, so the choice of the model was not the load's
	Note       any
	Now        time.Time
}
