package gateway

import (
	"runtime/debug"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// serve is the life of a request. Each step has a name and a file; a step that ends the request returns false, having
// said why to the client.
func (g *Gateway) serve(ctx *fasthttp.RequestCtx) {
	x := g.begin(ctx)
	defer func() {
		if p := recover(); p != nil {
			x.panicked(p, debug.Stack())
		}
		if !x.streaming { // else the answer is still on its way, and ends the exchange when it is through
			if x.status == 0 && (x.outcome == clientClosed || x.outcome == shutDown) {
				x.farewell()
			}
			x.end()
		}
	}()

	switch {
	case !x.findEndpoint(): // which path is this?
	case x.serveLocal(): // the lists of models and the root need no upstream
	case !x.identify(): // who asks?
	case !x.readCall(): // what is asked for?
	case !x.findServing(): // what serves it, and may they?
	default:
		x.forward() // choose an instance, send, and try another while nothing has been passed on
	}
}

// begin takes an exchange for a request.
func (g *Gateway) begin(ctx *fasthttp.RequestCtx) *exchange {
	g.active.Add(1)
	x := g.exchanges.Get().(*exchange) //nolint:forcetypeassert // the pool holds nothing else
	x.start = time.Now()
	x.ctx = ctx
	x.client = clientOf(ctx.Conn())
	x.snapshot = g.table.Load()
	dropTrailers(&ctx.Request.Header)
	x.traceRequest()
	x.setID(ctx.Request.Header.Peek(requestIDHeader))
	return x
}

// findEndpoint resolves method and path. The path is decoded and normalised once, and routing, access and the path
// that is asked of the upstream all follow from what it resolves to.
func (x *exchange) findEndpoint() bool {
	e, item, err := openai.Resolve(x.ctx.Method(), x.ctx.Path())
	if err != nil {
		x.dialect = dialectOf(x.ctx.Path(), &x.ctx.Request.Header)
		x.refuse(err)
		return false
	}
	x.endpoint, x.item, x.dialect = e, item, e.Dialect
	x.method = methodOf(x.ctx)
	return true
}

// methodOf is the method of a request that resolves to an endpoint, as one of a few constants.
func methodOf(ctx *fasthttp.RequestCtx) string {
	switch {
	case ctx.IsPost():
		return fasthttp.MethodPost
	case ctx.IsGet():
		return fasthttp.MethodGet
	case ctx.IsDelete():
		return fasthttp.MethodDelete
	}
	return fasthttp.MethodHead
}

// identify finds out who presents the credential. A credential that is unknown is no reason to refuse yet: a public
// route is open to everybody.
func (x *exchange) identify() bool {
	secret, err := credential(&x.ctx.Request.Header)
	if err != nil {
		x.refuse(err)
		return false
	}
	x.caller, x.callerErr = x.snapshot.Caller(secret, x.start)
	x.presented = len(secret) > 0
	return true
}

// readCall decodes the body and walks over it once. What is asked of a response names no model, and passes as it is.
func (x *exchange) readCall() bool {
	if x.endpoint.Body == openai.NoBody {
		x.body = x.ctx.Request.Body()
		x.received = len(x.body)
		return true
	}
	if err := x.decodeBody(); err != nil {
		x.refuse(err)
		return false
	}
	var err *openai.Error
	if x.endpoint.Body == openai.Form {
		err = x.call.ParseForm(x.ctx.Request.Header.ContentType(), x.body)
	} else {
		err = x.call.Parse(x.body)
	}
	if err != nil {
		x.refuse(err)
		return false
	}
	x.stream = x.call.Stream()
	return true
}

// findServing finds the route that serves the request.
func (x *exchange) findServing() bool {
	if x.endpoint.Name == "response" {
		return x.findResponse()
	}
	return x.findRoute()
}

// findRoute finds the route that the call names. To somebody who may not use it a route looks as if it did not exist.
func (x *exchange) findRoute() bool {
	r := x.snapshot.Route(x.call.Model())
	switch {
	case r != nil && r.Public():
	case x.callerErr != nil || !x.presented:
		x.refuse(unauthorized(x.presented))
		return false
	case r == nil || !x.snapshot.May(x.caller, r):
		x.refuse(openai.ModelNotFound(string(x.call.Model())))
		return false
	}
	x.route = r
	if r.Reason != "" {
		x.refuse(routeUnavailable(r))
		return false
	}
	if limit := r.MaxBodyBytes; limit > 0 && int64(len(x.body)) > limit {
		x.refuse(bodyTooLarge(limit))
		return false
	}
	return true
}
