package gateway

import (
	"time"

	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/route"
)

// Ended is a request that has ended, as the access log tells it: without a secret, and without anything that was asked
// or answered.
type Ended struct {
	Time      time.Time // when it ended
	ID        []byte    // of at most 128 bytes; they are the gateway's again after the call
	Endpoint  string    // name of the API that was called; "" if it is none
	Key       string    // name of the API key; "" without one
	Route     *route.Route
	To        *route.Upstream // who was asked last; nil if nobody was
	DecidedBy string          // the policy whose vote decided, if one did
	Status    int             // that the client was told, or 499
	Outcome   string
	Attempts  int
	Fallback  bool // a fallback target was asked last
	Stream    bool
	FirstByte time.Duration // from its arrival to the first byte of its answer's body; 0 if there was none
	Total     time.Duration // from its arrival to its end
	Tokens    metrics.Tokens
}

// observe tells whoever looks on of the request.
func (x *exchange) observe(now time.Time) {
	if x.gateway.observer == nil {
		return
	}
	e := Ended{Time: now, ID: x.id, Key: x.caller.Name(), Route: x.route, To: x.to, DecidedBy: x.decidedBy(),
		Status: x.told(), Outcome: x.outcome.String(), Attempts: x.attempts, Fallback: x.fallback, Stream: x.stream,
		Total: now.Sub(x.start), Tokens: x.tokens()}
	if x.endpoint != nil {
		e.Endpoint = x.endpoint.Name
	}
	if !x.first.IsZero() {
		e.FirstByte = x.first.Sub(x.start)
	}
	x.gateway.observer(e)
}
