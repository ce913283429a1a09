package gateway

import (
	"encoding/hex"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/openai"
	"github.com/gpustack/gpustack-gateway/route"
)

// exchange is one request's belongings. It is taken by begin and given back by end, which returns everything it holds.
type exchange struct {
	gateway *Gateway

	// Memory that the next request uses again.
	id       []byte // the request's id, as logs and errors name it
	call     openai.Call
	request  lb.Request
	lease    lb.Lease
	head     *fasthttp.ResponseHeader // of the answer at hand
	answer   []byte                   // the part of its body that is held back
	model    []byte                   // the model's name, as it is sent upstream
	pieces   [][]byte                 // of the request as it is sent upstream
	kept     *fasthttp.ResponseHeader // head and body of the last answer that was put aside while others are asked
	keptBody []byte
	follower follower

	state
}

// state is what an exchange knows of its one request.
type state struct {
	ctx      *fasthttp.RequestCtx
	client   *client
	snapshot *route.Snapshot // loaded once: a reload does not change a request that has begun
	start    time.Time

	method    string // of the request; upstreams are asked by the same
	endpoint  *openai.Endpoint
	item      []byte // what the path names below the endpoint
	dialect   openai.Dialect
	caller    route.Caller
	callerErr error
	presented bool // a key was presented
	body      []byte
	decoded   bool // body is not what was sent: its compression has been taken off
	route     *route.Route

	chain        chain          // of the response that is made or asked for; the zero value is none
	out          *outgoing      // the head of the request for upstreams, while attempts are on
	up           *upstream.Conn // the round trip that is on
	to           *route.Upstream
	health       lb.Outcome            // what the lease is given back with
	result       metrics.AttemptResult // of the attempt that is on, or was last
	attempts     int
	fallback     bool          // a fallback target is asked; at the end: it answered
	lastErr      error         // of the last attempt that gave no answer
	refusal      *openai.Error // why no candidate could be picked
	isKept       bool
	keptFrom     *route.Upstream
	keptStatus   int  // that it counts as
	keptFallback bool // it came from a fallback target
	whole        bool // answer is all of the body

	spans     spans
	streaming bool // the answer is being passed on after the handler has returned
	chunked   bool // it is of unknown length, to a client that knows chunks
	begun     bool // its head has been written
	delivered bool // the HTTP server has taken all of it
	stream    bool // an event stream was asked for
	outcome   Outcome
	status    int
	code      string    // of an error that the gateway made
	first     time.Time // when the first byte of the answer's body came
	received  int       // bytes of the request's body
	written   int64     // bytes of the answer's body that were passed on
}

func newExchange(g *Gateway) *exchange {
	x := &exchange{gateway: g, head: new(fasthttp.ResponseHeader), kept: new(fasthttp.ResponseHeader)}
	clear(x.pieces) // they must not keep a body alive
	clearHead(x.head)
	clearHead(x.kept)
	return x
}

// clearHead empties a head that is to hold what an upstream says, and nothing that it does not.
func clearHead(h *fasthttp.ResponseHeader) {
	h.Reset()
	h.SetNoDefaultContentType(true)
}

// keepBytes is the largest buffer that an exchange keeps for the next request.
const keepBytes = 16 << 10

// end gives back what the exchange holds and writes its line of the access log. It is called once, by whoever ends the
// request: the handler, or the body stream that runs after it.
func (x *exchange) end() {
	x.releaseUpstream()
	x.returnLease()
	x.client.release()
	x.countOnce()
	now := time.Now()
	x.traceEnd(now)
	x.count(now)
	x.log(now)
	x.observe(now)
	x.recycle()
}

// returnLease gives the place at the instance back, if it is held, with what the request says of the instance.
func (x *exchange) returnLease() {
	if !x.lease.Held() {
		return
	}
	x.traceAttemptEnd(time.Now())
	x.gateway.metrics.Attempt(x.route.Name, x.to.Target, x.to.Instance, x.result)
	if x.lease.Done(x.health, time.Now()) {
		x.gateway.metrics.Ejected(x.to.Target, x.to.Instance)
		x.gateway.log.Warn().Str("target", x.to.Target).Str("instance", x.to.Instance).Str("route", x.route.Name).
			AnErr("cause", x.lastErr).Msg("an instance is ejected")
	}
}

// recycle makes the exchange ready for another request.
func (x *exchange) recycle() {
	g := x.gateway
	x.releaseOut()
	x.state = state{}
	x.call.Reset()
	x.follower.reset()
	x.request.Reset()
	clearHead(x.head)
	clearHead(x.kept)
	x.answer, x.keptBody = reusable(x.answer), reusable(x.keptBody)
	g.exchanges.Put(x)
	g.active.Add(-1)
}

// outgoing is the head of a request as it is sent upstream. An answer that is passed on for half an hour does not hold it.
type outgoing struct {
	head   []byte // for the upstream that is tried
	shared []byte // the part of it that all attempts share
}

// releaseOut lets the head for upstreams go, which only another attempt would need.
func (x *exchange) releaseOut() {
	if x.out == nil {
		return
	}
	x.out.head, x.out.shared = reusable(x.out.head), reusable(x.out.shared)
	x.gateway.heads.Put(x.out)
	x.out = nil
}

func reusable(b []byte) []byte {
	if cap(b) > keepBytes {
		return nil
	}
	return b[:0]
}

// releaseUpstream ends the round trip, if one is on.
func (x *exchange) releaseUpstream() {
	if x.up == nil {
		return
	}
	x.client.detach()
	x.up.Release()
	x.up = nil
}

// setID names the request: as the client does, if that is usable, else at random.
func (x *exchange) setID(given []byte) {
	if saneID(given) {
		x.id = append(x.id[:0], given...)
		return
	}
	var raw [16]byte
	for i := range 2 {
		for r, j := x.gateway.rand(), 0; j < 8; j++ {
			raw[8*i+j] = byte(r >> (8 * j))
		}
	}
	x.id = hex.AppendEncode(x.id[:0], raw[:])
}

// refuse answers with an error of the gateway's own.
func (x *exchange) refuse(e *openai.Error) {
	x.outcome, x.status = rejected, e.Status
	x.writeError(e)
}

// farewell is the answer for a client that has left, or is cut off. Somebody may read it all the same: to shut down the
// sending side counts as leaving, and nobody must be answered with the empty 200 that the HTTP server has ready.
func (x *exchange) farewell() {
	e := &openai.Error{Status: statusClientClosed, Type: "invalid_request_error", Code: codeClientClosed,
		Message: "The client shut down its side of the connection before there was an answer; it must be kept open until then."}
	if x.outcome == shutDown {
		e = &openai.Error{Status: fasthttp.StatusServiceUnavailable, Type: "server_error", Code: codeShutDown, RetryAfter: retrySoon,
			Message: "The gateway has stopped before there was an answer; try again."}
	}
	x.writeError(e)
	x.ctx.Response.SetConnectionClose()
	x.written = 0 // as far as anybody knows
}

// writeError renders an error in the dialect of the API that was called.
func (x *exchange) writeError(e *openai.Error) {
	x.code = e.Code
	h := &x.ctx.Response.Header
	x.ctx.Response.Reset()
	h.SetStatusCode(e.Status)
	h.SetContentType("application/json")
	x.writeID(h)
	if e.Allow != "" {
		h.Set("Allow", e.Allow)
	}
	if e.RetryAfter > 0 {
		h.SetBytesV("Retry-After", fasthttp.AppendUint(nil, e.RetryAfter))
	}
	if e.Status == fasthttp.StatusUnauthorized {
		h.Set("Www-Authenticate", "Bearer")
	}
	x.ctx.Response.SetBodyRaw(e.Append(nil, x.dialect, string(x.id)))
	x.written = int64(len(x.ctx.Response.Body()))
}

// writeID puts the request's id on an answer, under the names that the SDKs of both dialects read.
func (x *exchange) writeID(h *fasthttp.ResponseHeader) {
	h.SetBytesV(requestIDHeader, x.id)
	if x.dialect == openai.Anthropic && len(h.Peek("Request-Id")) == 0 {
		h.SetBytesV("Request-Id", x.id)
	}
}

// panicked turns a panic into the failure of this one request.
func (x *exchange) panicked(p any, stack []byte) {
	x.fault(p, stack)
	x.streaming = false
	x.refuse(&openai.Error{Status: fasthttp.StatusInternalServerError, Type: "server_error", Code: codeInternal,
		Message: "The gateway failed to handle the request; its log has the details under this request's id."})
	x.outcome = internalError
}

// fault notes a panic. It says nothing of an instance, not even which: the place may just have been taken.
func (x *exchange) fault(p any, stack []byte) {
	x.gateway.log.Error().Bytes("request_id", x.id).Interface("panic", p).Bytes("stack", stack).Msg("a request failed on a fault of the gateway")
	x.outcome = internalError
	x.releaseUpstream()
	x.lease.Done(lb.Neutral, time.Now())
}
