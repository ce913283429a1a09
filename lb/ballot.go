package lb

import (
	"context"
	"time"

	"github.com/gpustack/gpustack-gateway/openai"
)

// Voter scores the candidates of one request. Vote must not wait, change anything outside the ballot, keep the ballot
// or allocate: a pick calls it again whenever another request was faster, and Explain calls it as well.
type Voter interface{ Vote(b *Ballot) }

// Ballot is one voter's sheet for one request.
type Ballot struct {
	Request    *Request
	Candidates []Candidate
	Live       []bool    // candidates that take part: neither out, nor drained, nor tried
	Load       []float64 // requests in flight plus penalty, read once for all voters
	Scores     []float64 // to be filled; zero on entry: all zero abstains. Negative, NaN and infinite count as 0
	Strength   float64   // factor on the voter's weight, 1 on entry; what is not a positive number abstains
	PerModel   bool      // to be set: one vote a distinct model instead of one a candidate
	Mark       *Mark     // what this voter marked for this request, all zero if it is no Marker
	Note       any       // what this voter's Prepare returned for this request, nil if nothing was prepared
	Now        time.Time
	Explain    bool   // a person will read Reason, and allocating is allowed
	Reason     string // to be set when Explain is: what the voter went by, or why it abstained
}

// Mark is what a Marker wrote down about one request: a few words of its own, kept with the request so that they cost
// no allocation.
type Mark [4]uint64

// Marker is a Voter that takes something from the request which stays the same for all its attempts: it is worked out
// once. It must not wait, and the mark it is given is zero. An error says that the request itself is bad, and where;
// the voter must be able to vote all the same.
type Marker interface {
	Mark(r *Request, m *Mark) *openai.Error
}

// Preparer is a Voter that has to find something out first, once a request and before anything is counted: the only
// place where a policy may wait. It returns early when ctx ends, and must not keep its slices.
type Preparer interface {
	Prepare(ctx context.Context, r *Request, candidates []Candidate, live []bool) (note any)
}

// Follower is a Voter that learns from the choice. Picked is called once a successful pick, must not wait or keep what
// it is given, and never allocates in the ordinary case.
type Follower interface {
	Picked(p Picked)
}

// Picked tells a Follower what was chosen.
type Picked struct {
	Request    *Request
	Candidates []Candidate
	Index      int   // of the chosen candidate
	ByModel    bool  // a vote per model took part, so the choice of the model was not the load's
	Mark       *Mark // this voter's mark
	Note       any   // this voter's note
	Now        time.Time
}
