package lb

import "github.com/gpustack/gpustack-gateway/openai"

// Header is the read side of a request's headers. *fasthttp.RequestHeader is one. Peek is case-insensitive and
// returns the first value, or nil.
type Header interface{ Peek(name string) []byte }

// Rand returns uniformly distributed random bits, for any number of goroutines. math/rand/v2.Uint64 is one.
type Rand func() uint64

// Request is what a vote may know of a request, with the scratch space that a pick needs. One Request serves all
// attempts of one request on one goroutine at a time, and may be used again for another after Reset. The zero value is
// ready to use; Header and Call may be nil.
//
// What it remembers of its attempts belongs to one pool: used with another one (a fallback's) it starts afresh.
type Request struct {
	Endpoint *openai.Endpoint
	Call     *openai.Call
	Header   Header

	scratch
}
