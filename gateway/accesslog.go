package gateway

import (
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/lb"
)

// Outcome is how a request ended, as the access log says it.
type Outcome uint8

// The outcomes.
const (
	ok              Outcome = iota // an answer was passed on to its end
	clientClosed                   // the client left, or stopped reading, before that
	upstreamError                  // no upstream answered, or the answer that was passed on says that the upstream failed
	upstreamAborted                // the answer broke off after part of it had been passed on
	rejected                       // the gateway refused the request
	internalError                  // a fault of the gateway
	shutDown                       // the gateway stopped, and its time to drain was over
)

var outcomes = [...]string{"ok", "client_closed", "upstream_error", "upstream_aborted", "rejected", "internal_error", "shutdown"}

func (o Outcome) String() string { return outcomes[o] }

// broken reports whether an answer broke off, and not because its client had gone.
func (o Outcome) broken() bool { return o == upstreamAborted || o == internalError }

// statusClientClosed is what the log says of a client that left before a status was sent; nginx made the number known.
const statusClientClosed = 499

// count tells the metrics of the request.
func (x *exchange) count(now time.Time) {
	r := metrics.Request{Status: x.status, Outcome: int(x.outcome), OutcomeName: x.outcome.String(), User: x.caller.User(),
		Stream: x.stream, Fallback: x.fallback, Total: now.Sub(x.start)}
	if x.route != nil {
		r.Route = x.route.Name
		if x.to != nil {
			r.Target, r.Instance = x.to.Target, x.to.Instance
			r.Policy, r.DecidedBy = x.route.By == lb.Policy && !x.fallback, x.decidedBy()
		}
	}
	if !x.first.IsZero() {
		r.FirstByte = x.first.Sub(x.start)
	}
	r.Tokens = x.tokens()
	x.gateway.metrics.Request(&r)
}

// tokens returns what the answer says of tokens, as far as it was seen.
func (x *exchange) tokens() metrics.Tokens {
	u := &x.follower.usage
	if !u.Known {
		return metrics.Tokens{}
	}
	return metrics.Tokens{Input: u.Input, Output: u.Output, Cached: u.Cached, Reasoning: u.Reasoning}
}

// told returns the status that the client was told, or that stands for its having left before.
func (x *exchange) told() int {
	switch {
	case x.status == 0 && x.outcome == clientClosed:
		return statusClientClosed
	case x.status == 0 && x.outcome == shutDown:
		return fasthttp.StatusServiceUnavailable
	}
	return x.status
}

// decidedBy returns the policy whose vote decided, "" if none did. Where nobody was asked, what the lease knows is of an
// earlier request.
func (x *exchange) decidedBy() string {
	if x.to == nil {
		return ""
	}
	return x.lease.By()
}

// log writes the request's line of the access log: never a secret, never what was asked or answered.
func (x *exchange) log(now time.Time) {
	e := x.gateway.log.Info()
	if e == nil {
		return
	}
	e.Bytes("request_id", x.id)
	if x.endpoint != nil {
		e.Str("endpoint", x.endpoint.Name)
	}
	if name := x.caller.Name(); name != "" {
		e.Str("key", name)
	}
	if x.route != nil {
		e.Str("route", x.route.Name)
		if x.route.Reason == "" {
			e.Str("route_by", x.route.By.String())
		}
	}
	if x.to != nil {
		e.Str("target", x.to.Target).Str("instance", x.to.Instance)
	}
	if by := x.decidedBy(); by != "" {
		e.Str("decided_by", by)
	}
	e.Int("status", x.told()).Stringer("outcome", x.outcome).Int("attempts", x.attempts)
	if x.code != "" {
		e.Str("code", x.code)
	}
	if x.fallback {
		e.Bool("fallback", true)
	}
	if !x.first.IsZero() {
		e.Float64("first_byte_ms", ms(x.first.Sub(x.start)))
	}
	e.Float64("total_ms", ms(now.Sub(x.start))).Int("bytes_in", x.received).Int64("bytes_out", x.written).Bool("stream", x.stream)
	if u := &x.follower.usage; u.Known {
		e.Int64("input_tokens", u.Input).Int64("output_tokens", u.Output)
		if u.Cached > 0 {
			e.Int64("cached_tokens", u.Cached)
		}
		if u.Reasoning > 0 {
			e.Int64("reasoning_tokens", u.Reasoning)
		}
	}
	if x.lastErr != nil {
		e.AnErr("cause", x.lastErr)
	}
	e.Msg("request")
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
