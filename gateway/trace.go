package gateway

import (
	"bytes"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/tracing"
)

// The headers by which spans of several processes become one trace (W3C Trace Context).
const (
	traceparentHeader = "Traceparent"
	tracestateHeader  = "Tracestate"
)

// spans are what is traced of a request, if anything is.
type spans struct{ request, attempt tracing.Span }

// traceRequest begins the span of a request, as a part of its client's trace if that has one.
func (x *exchange) traceRequest() {
	if x.gateway.tracer == nil {
		return
	}
	h := &x.ctx.Request.Header
	state := string(bytes.Join(h.PeekAll(tracestateHeader), []byte(","))) // which may stand there several times
	x.spans.request = x.gateway.tracer.Request("request", string(h.Peek(traceparentHeader)), state, x.start)
}

// traceAttempt begins the span of an attempt.
func (x *exchange) traceAttempt() {
	if x.spans.request.On() {
		x.spans.attempt = x.spans.request.Attempt("attempt "+x.lease.Candidate().Instance, time.Now())
	}
}

// traceAttemptEnd ends it.
func (x *exchange) traceAttemptEnd(now time.Time) {
	a := x.spans.attempt
	if !a.On() {
		return
	}
	x.spans.attempt = tracing.Span{}
	a.Text("gpustack.gateway.target", x.to.Target)
	a.Text("gpustack.gateway.instance", x.to.Instance)
	a.Text("gen_ai.request.model", x.to.Model)
	a.Text("gpustack.gateway.attempt.result", x.result.String())
	a.Number("http.response.status_code", int64(x.head.StatusCode()))
	problem := ""
	if x.lastErr != nil {
		problem = x.result.String()
	}
	a.End(now, problem)
}

// traceEnd ends the span of the request, with what the access log says of it.
func (x *exchange) traceEnd(now time.Time) {
	s := x.spans.request
	if !s.On() {
		return
	}
	if x.endpoint != nil {
		name := x.endpoint.Name
		if x.route != nil {
			name += " " + x.route.Name
		}
		s.Name(name)
		s.Text("gen_ai.operation.name", x.endpoint.Name)
	}
	if x.route != nil {
		s.Text("gen_ai.request.model", x.route.Name)
		s.Text("gpustack.gateway.route_by", x.route.By.String())
	}
	s.Text("gpustack.gateway.request_id", string(x.id))
	s.Text("gpustack.gateway.decided_by", x.lease.By())
	s.Text("gpustack.gateway.outcome", x.outcome.String())
	s.Text("error.type", x.code)
	s.Number("http.response.status_code", int64(x.told()))
	s.Number("gen_ai.usage.input_tokens", x.follower.usage.Input)
	s.Number("gen_ai.usage.output_tokens", x.follower.usage.Output)
	problem := ""
	if x.outcome != ok && x.outcome != clientClosed && x.told() >= 500 || x.outcome.broken() {
		problem = x.outcome.String()
	}
	s.End(now, problem)
}
