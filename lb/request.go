package lb

import (
	"slices"

	"github.com/gpustack/gpustack-gateway/openai"
)

// Header is the read side of a request's headers. *fasthttp.RequestHeader is one. Peek is case-insensitive and
// returns the first value, or nil.
type Header interface{ Peek(name string) []byte }

// Rand returns uniformly distributed random bits, for any number of goroutines. math/rand/v2.Uint64 is one.
type Rand func() uint64

// Request is what a vote may know of a request, with the scratch space that a pick needs. One Request serves all
// attempts of one request, on one goroutine at a time, and may be used again for another after Reset. The zero value
// is ready to use; Call and Header may be nil.
//
// What it remembers of its attempts belongs to one pool: used with another one (a fallback's) it starts afresh.
type Request struct {
	Endpoint *openai.Endpoint
	Call     *openai.Call
	Header   Header

	keep     uint64 // key of the candidate to keep to, if keeps
	keeps    bool
	pool     *Pool
	tried    []bool // by candidate
	tries    int
	turn     int  // the target whose turn it was, if turned
	turned   bool // kept for all attempts: a request has one turn
	prepared bool
	marks    []Mark // by vote
	refusal  *openai.Error
	notes    []any // by vote

	ballot Ballot
	tally  tally
}

// Reset makes the request ready for another one. It keeps its memory and nothing else.
func (r *Request) Reset() {
	r.Endpoint, r.Call, r.Header = nil, nil, nil
	r.pool, r.refusal, r.keeps = nil, nil, false
	clear(r.notes)
	r.ballot = Ballot{}
}

// KeepTo makes picks choose the candidate of a key, whatever the votes, as long as the pool has it and it is neither
// out nor tried: it has something that no other candidate has, such as the response that this request goes on from.
// While that candidate is at its limit the pick fails with ErrFull.
func (r *Request) KeepTo(key uint64) { r.keep, r.keeps = key, true }

// Tried marks candidate i of the pool that was last picked from as tried: no pick from it chooses i again.
func (r *Request) Tried(i int) {
	if r.pool != nil && !r.tried[i] {
		r.tried[i] = true
		r.tries++
	}
}

// Route returns the name of the route whose pool the request is at, and "" before that.
func (r *Request) Route() string {
	if r.pool == nil {
		return ""
	}
	return r.pool.route
}

// at makes the request one of pool p: nothing tried, nothing prepared, the marks made.
func (r *Request) at(p *Pool) {
	if r.pool == p {
		return
	}
	r.pool = p
	r.tried = zeroed(r.tried, len(p.candidates))
	r.tries, r.turned, r.prepared, r.refusal = 0, false, false, nil
	r.marks = zeroed(r.marks, len(p.votes))
	r.notes = zeroed(r.notes, len(p.votes))
	for v := range p.votes {
		if m := p.votes[v].marker; m != nil {
			if err := m.Mark(r, &r.marks[v]); r.refusal == nil {
				r.refusal = err
			}
		}
	}
}

// zeroed returns a slice of n zero values, in the memory of s if that is enough.
func zeroed[T any](s []T, n int) []T {
	s = sized(s, n)
	clear(s)
	return s
}

// sized returns a slice of n values of no particular content, in the memory of s if that is enough.
func sized[T any](s []T, n int) []T {
	return slices.Grow(s[:0], n)[:n]
}
