package gateway

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/upstream"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

// forward gets the request answered: by a candidate, by the next best one while nothing has been passed on, by the
// fallback targets in the order written. What the client gets in the end is the first answer that is not to be retried,
// else the last real one, else an error that says why there is none.
func (x *exchange) forward() {
	r := x.route
	x.client.stall = r.Timeouts.ClientStall
	if x.client.stall == 0 {
		x.client.stall = noStall
	}
	x.request.Endpoint, x.request.Call, x.request.Header = x.endpoint, &x.call, &x.ctx.Request.Header
	if err := r.Pool.Read(&x.request); err != nil {
		x.refuse(err)
		return
	}
	if err := x.keepToChain(); err != nil {
		x.refuse(err)
		return
	}
	if r.Pool.Prepares() {
		r.Pool.Prepare(x.client.context(), &x.request, x.start)
	}

	budget := r.Retry.MaxAttempts
	if len(r.Fallbacks) > 0 && budget > 1 {
		budget-- // the last attempt is kept for a fallback target
	}
	if x.tryPool(r.Pool, r.Upstreams, budget) {
		return
	}
	for i := range r.Fallbacks {
		f := &r.Fallbacks[i]
		if status, answered := x.lastStatus(); answered && !f.Codes.Has(status) {
			continue
		}
		x.fallback = true
		if x.tryPool(f.Pool, f.Upstreams, r.Retry.MaxAttempts) {
			return
		}
	}
	x.settle()
}

// lastStatus is the status that stands so far: of the last real answer, or of the refusal when every instance is full.
// There is none when nobody answered.
func (x *exchange) lastStatus() (status int, answered bool) {
	if x.isKept {
		return x.keptStatus, true
	}
	if x.refusal != nil && x.refusal.Code == codeMaxInflight {
		return x.refusal.Status, true
	}
	return 0, false
}

// tryPool tries candidates of a pool until one gives an answer that stands, or none is left, or the budget of attempts
// is used up. It returns true when the request is over: answered, or its client gone.
func (x *exchange) tryPool(p *lb.Pool, ups []route.Upstream, budget int) (over bool) {
	for x.attempts < budget && x.mayTry() {
		if err := x.pick(p); err != nil {
			if errors.Is(err, errLeft) {
				x.outcome = x.client.leaving()
				return true
			}
			if !x.isKept && x.lastErr == nil && x.refusal == nil {
				x.refusal = notPicked(err, p, x.route, time.Now())
			}
			return false
		}
		x.attempts++
		x.traceAttempt()
		x.health, x.result = lb.Neutral, metrics.Answered
		if over := x.attempt(&ups[x.lease.Index()]); over {
			return true
		}
		x.request.Tried(x.lease.Index())
		x.returnLease()
		if x.client.left() {
			x.outcome = x.client.leaving()
			return true
		}
		if x.isKept && !x.route.Retry.StatusCodes.Has(x.keptStatus) {
			return false // no reason to try another candidate, but perhaps a fallback target
		}
	}
	return false
}

// mayTry reports whether another attempt may begin now.
func (x *exchange) mayTry() bool {
	if x.client.left() {
		return false
	}
	deadline := x.route.Retry.Deadline
	return x.attempts == 0 || deadline <= 0 || time.Since(x.start) < deadline
}

// attempt sends the request to one upstream and reads the head of its answer. It returns true if the request is over:
// the answer stands and is on its way down, or the client has gone.
func (x *exchange) attempt(to *route.Upstream) (over bool) {
	x.to = to
	if err := x.roundTrip(to); err != nil {
		return x.failed(err)
	}
	switch x.head.StatusCode() {
	case fasthttp.StatusBadGateway, fasthttp.StatusServiceUnavailable, fasthttp.StatusGatewayTimeout:
		x.health = lb.Failed
	default:
		x.health = lb.Served
	}
	if x.wouldRetry(x.head.StatusCode()) {
		kept, err := x.keep()
		if err != nil {
			return x.failed(err)
		}
		if kept {
			x.result = metrics.PutAside
			return false
		}
	}
	if put, err := x.putAside(); err != nil || put {
		if err != nil {
			return x.failed(err)
		}
		return false
	}
	if err := x.hold(); err != nil {
		return x.failed(err)
	}
	x.commit()
	return true
}

// statusOfFailure is what a stream counts as that begins with an error.
const statusOfFailure = fasthttp.StatusBadGateway

// putAside puts away a stream that begins with an error, if the route looks for that and somebody else might be asked.
func (x *exchange) putAside() (put bool, err error) {
	failed, err := x.peek()
	if err != nil || !failed || !x.wouldRetry(statusOfFailure) {
		return false, err
	}
	if put, err = x.keepAs(statusOfFailure); put {
		x.result = metrics.PutAside
	}
	return put, err
}

// failed notes an attempt that gave no answer.
func (x *exchange) failed(err error) (over bool) {
	x.releaseUpstream()
	if x.client.left() {
		x.outcome, x.health, x.result = x.client.leaving(), lb.Neutral, metrics.Abandoned
		return true
	}
	x.health, x.lastErr, x.result = lb.Failed, err, attemptResult(err)
	x.gateway.log.Debug().Bytes("request_id", x.id).Str("route", x.route.Name).Str("target", x.to.Target).
		Str("instance", x.to.Instance).Int("attempt", x.attempts).Err(err).Msg("an attempt failed")
	return false
}

// attemptResult says how an attempt ended that gave no answer.
func attemptResult(err error) metrics.AttemptResult {
	var up *upstream.Error
	switch {
	case !errors.As(err, &up):
		return metrics.Broken
	case up.Stage == upstream.Dial:
		return metrics.Unreachable
	case up.Timeout():
		return metrics.TimedOut
	}
	return metrics.Broken
}

// wouldRetry reports whether somebody else might be asked after an answer with this status.
func (x *exchange) wouldRetry(status int) bool {
	r := x.route
	if x.attempts >= r.Retry.MaxAttempts {
		return false
	}
	if r.Retry.StatusCodes.Has(status) {
		return true
	}
	for i := range r.Fallbacks {
		if r.Fallbacks[i].Codes.Has(status) {
			return true
		}
	}
	return false
}

// roundTrip sends the request and reads the head of the answer into x.head. A connection that turns out to have been
// closed while it was idle costs no attempt: the request is sent once more on a fresh one.
func (x *exchange) roundTrip(to *route.Upstream) error {
	r := x.route
	limits := upstream.Limits{FirstByte: r.Timeouts.FirstByte, Idle: r.Timeouts.Idle}
	pool := x.gateway.upstream.Pool(upstream.Addr{Host: to.Address.Host, TLS: to.Address.TLS})
	from, until := x.call.ModelSpan()
	if x.model = x.model[:0]; until > from { // else the request names none: it is about a response
		x.model = x.call.EncodeModel(x.model, to.Model)
	}
	x.pieces = append(x.pieces[:0], nil, x.body[:from], x.model, x.body[until:])
	asked := r.InjectUsage && x.askUsage()
	x.writeHead(to, lengthOf(x.pieces), asked)
	x.pieces[0] = x.out.head
	x.answer, x.whole, x.first = x.answer[:0], false, time.Time{}

	for fresh := false; ; fresh = true {
		up, err := x.connect(pool, fresh)
		if err != nil {
			return err
		}
		if !x.client.attach(up) {
			up.Abort()
			return &upstream.Error{Stage: upstream.Dial, Err: upstream.ErrAborted}
		}
		x.up = up
		clearHead(x.head)
		err = up.RoundTrip(x.method, x.head, limits, x.pieces...)
		if err == nil {
			x.follower.begin(x.head, x.endpoint, asked)
			return nil
		}
		if !upstream.IsStale(err) {
			return err
		}
		x.releaseUpstream()
	}
}

// askUsage changes the pieces of a chat's body so that its stream tells the usage, and reports whether it did: not if the
// client asks itself.
func (x *exchange) askUsage() bool {
	if x.endpoint.Name != "chat" && x.endpoint.Name != "completions" {
		return false
	}
	from, until, text, ok := x.call.AskUsage()
	if !ok {
		return false
	}
	offset := 0 // of a piece in the client's body
	for i, p := range x.pieces {
		if i == 2 { // the model's name stands for another one
			_, offset = x.call.ModelSpan()
			continue
		}
		if from >= offset && until <= offset+len(p) {
			x.pieces = slices.Replace(x.pieces, i, i+1, p[:from-offset], []byte(text), p[until-offset:])
			return true
		}
		offset += len(p)
	}
	return false
}

func lengthOf(pieces [][]byte) (n int) {
	for _, p := range pieces {
		n += len(p)
	}
	return n
}

// connect returns a connection to an upstream: one that has nothing to do, unless it has to be fresh, or a new one.
func (x *exchange) connect(pool *upstream.Pool, fresh bool) (*upstream.Conn, error) {
	if !fresh {
		if up := pool.Idle(); up != nil {
			return up, nil
		}
	}
	return pool.Dial(x.client.context(), x.route.Timeouts.Connect)
}

// writeHead writes the head of the request for one upstream into x.out.head: its address and credential, and what of the
// client's own headers crosses.
// Of an answer that is to be changed on its way the gateway wants the plain text.
func (x *exchange) writeHead(to *route.Upstream, length int, plain bool) {
	if x.out == nil {
		x.out = x.gateway.heads.Get().(*outgoing) //nolint:forcetypeassert // the pool holds nothing else
		x.out.shared = appendRequestHeaders(x.out.shared[:0], &x.ctx.Request.Header, changes{decoded: x.decoded, traced: x.spans.request.On(), plain: plain})
		x.out.shared = appendHeader(x.out.shared, requestIDHeader, x.id)
	}
	b := append(append(x.out.head[:0], x.method...), ' ')
	b = append(b, to.Address.BasePath...)
	b = append(b, x.endpoint.Path...)
	b = append(b, x.item...)
	if query := x.ctx.URI().QueryString(); len(query) > 0 {
		b = append(append(b, '?'), query...)
	}
	b = append(b, " HTTP/1.1\r\n"...)
	b = appendHeader(b, "Host", to.Address.Authority)
	if to.Header != "" {
		b = appendHeader(b, to.Header, to.Credential.Reveal())
	}
	if length > 0 || x.method == fasthttp.MethodPost {
		b = append(b, "Content-Length: "...)
		b = strconv.AppendInt(b, int64(length), 10)
		b = append(b, "\r\n"...)
	}
	if a := x.spans.attempt; a.On() {
		parent, state := a.Context()
		b = appendHeader(b, traceparentHeader, parent)
		if state != "" {
			b = appendHeader(b, tracestateHeader, state)
		}
	}
	b = append(b, x.out.shared...)
	b = append(b, "\r\n"...)
	x.out.head = b
}
