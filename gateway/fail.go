package gateway

import (
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
	"github.com/gpustack/gpustack-gateway/route"
)

// Codes of the errors that the gateway itself makes.
const (
	codeInvalidKey      = "invalid_api_key"
	codeRouteDown       = "route_unavailable"
	codeMaxInflight     = "max_inflight"
	codeNoInstance      = "no_instance"
	codeUpstreamDown    = "upstream_unreachable"
	codeUpstreamFailed  = "upstream_error"
	codeUpstreamTimeout = "upstream_timeout"
	codeTooLarge        = "request_too_large"
	codeInternal        = "internal_error"
	codeClientClosed    = "client_closed"
	codeShutDown        = "shutting_down"
)

const retrySoon = 1 // seconds; what a client is told when an instance may be back at once

func unauthorized(presented bool) *openai.Error {
	e := &openai.Error{Status: fasthttp.StatusUnauthorized, Type: "authentication_error", Code: codeInvalidKey,
		Message: "No API key was given: send it as 'Authorization: Bearer KEY' or 'x-api-key: KEY'."}
	if presented {
		e.Message = "The API key is not valid: it is unknown or has expired."
	}
	return e
}

func ambiguousKey(message string) *openai.Error {
	return &openai.Error{Status: fasthttp.StatusUnauthorized, Type: "authentication_error", Code: codeInvalidKey, Message: message}
}

func routeUnavailable(r *route.Route) *openai.Error {
	return &openai.Error{Status: fasthttp.StatusServiceUnavailable, Type: "server_error", Code: codeRouteDown,
		Message: fmt.Sprintf("The route %q can't serve: %s.", r.Name, r.Reason)}
}

func bodyTooLarge(limit int64) *openai.Error {
	return &openai.Error{Status: fasthttp.StatusRequestEntityTooLarge, Type: "invalid_request_error", Code: codeTooLarge,
		Message: fmt.Sprintf("The request body is larger than the %d bytes that are allowed (max_body_bytes).", limit)}
}

// notPicked says why no candidate of a pool could be chosen.
func notPicked(err error, p *lb.Pool, r *route.Route, now time.Time) *openai.Error {
	if errors.Is(err, lb.ErrFull) {
		return &openai.Error{Status: fasthttp.StatusTooManyRequests, Type: "rate_limit_error", Code: codeMaxInflight, RetryAfter: retrySoon,
			Message: fmt.Sprintf("Every instance of the route %q is at its limit of concurrent requests; try again later.", r.Name)}
	}
	e := &openai.Error{Status: fasthttp.StatusServiceUnavailable, Type: "server_error", Code: codeNoInstance, RetryAfter: retrySoon,
		Message: fmt.Sprintf("No instance of the route %q is healthy; try again later.", r.Name)}
	if back, ok := p.Returns(now); ok {
		e.RetryAfter = max(retrySoon, int(back.Sub(now).Round(time.Second)/time.Second))
	}
	return e
}

// noAnswer says what became of the last attempt when no upstream gave an answer. The cause goes to the log; a client
// is not told addresses.
func noAnswer(err error, r *route.Route) *openai.Error {
	e := &openai.Error{Status: fasthttp.StatusBadGateway, Type: "server_error", Code: codeUpstreamFailed,
		Message: fmt.Sprintf("The instance chosen for the route %q broke off before its answer was complete.", r.Name)}
	var up *upstream.Error
	switch {
	case !errors.As(err, &up):
	case up.Stage == upstream.Dial:
		e.Status, e.Code, e.RetryAfter = fasthttp.StatusServiceUnavailable, codeUpstreamDown, retrySoon
		e.Message = fmt.Sprintf("No instance of the route %q can be reached; try again later.", r.Name)
	case up.Timeout():
		e.Status, e.Code = fasthttp.StatusGatewayTimeout, codeUpstreamTimeout
		e.Message = fmt.Sprintf("The instance chosen for the route %q did not answer in time.", r.Name)
	case errors.Is(up.Err, upstream.ErrHeadTooLarge):
		e.Message = fmt.Sprintf("The instance chosen for the route %q answered with a head larger than %d bytes.", r.Name, upstream.MaxHead)
	}
	return e
}

// broken maps what the HTTP server can't read to what the client is told. The server's own texts quote the request and
// are not passed on.
func broken(err error, maxHead int) *openai.Error {
	e := &openai.Error{Status: fasthttp.StatusBadRequest, Type: "invalid_request_error", Code: "malformed_request",
		Message: "The request is not well-formed HTTP/1.1."}
	var small *fasthttp.ErrSmallBuffer
	var timeout net.Error
	switch {
	case errors.As(err, &small):
		e.Status, e.Code = fasthttp.StatusRequestHeaderFieldsTooLarge, "headers_too_large"
		e.Message = fmt.Sprintf("The request's head is larger than the %d bytes that are allowed.", maxHead)
	case errors.Is(err, fasthttp.ErrTimeout), errors.As(err, &timeout) && timeout.Timeout():
		e.Status, e.Code = fasthttp.StatusRequestTimeout, "request_timeout"
		e.Message = "The request did not arrive in time."
	}
	return e
}
