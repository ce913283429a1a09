package gateway

import (
	"bytes"
	"math"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// What happens before a request is whole: its size, a client that asks whether it should send its body, and what can't
// be read at all.

// headerReceived says how large the body may be.
func (g *Gateway) headerReceived(*fasthttp.RequestHeader) fasthttp.RequestConfig {
	return fasthttp.RequestConfig{MaxRequestBodySize: maxBody(g.table.Load().MaxBodyBytes)}
}

// maxBody is the largest body of any route, as the HTTP server takes it: there 0 is not unlimited.
func maxBody(n int64) int {
	if n <= 0 || n > math.MaxInt32 {
		return math.MaxInt32
	}
	return int(n)
}

// expect answers a client that waits for "100 Continue" before it sends its body (RFC 9110, section 10.1.1): one that
// will be refused anyway is told at once.
func (g *Gateway) expect(ctx *fasthttp.RequestCtx) int {
	x := g.begin(ctx)
	e := x.unwelcome()
	if e == nil {
		x.recycle() // the request itself is still to come
		return fasthttp.StatusContinue
	}
	x.client.unread.Store(true)
	x.refuse(e)
	x.end()
	return e.Status
}

// unwelcome says why a request would be refused, as far as its head tells.
func (x *exchange) unwelcome() *openai.Error {
	h := &x.ctx.Request.Header
	x.dialect = dialectOf(x.ctx.Path(), h)
	if limit := maxBody(x.snapshot.MaxBodyBytes); h.ContentLength() > limit {
		return bodyTooLarge(int64(limit))
	}
	if _, _, err := openai.Resolve(x.ctx.Method(), x.ctx.Path()); err != nil {
		return err
	}
	secret, err := credential(h)
	if err != nil {
		return err
	}
	if _, err := x.snapshot.Caller(secret, x.start); (err != nil || len(secret) == 0) && !x.anyPublic() {
		return unauthorized(len(secret) > 0)
	}
	return nil
}

func (x *exchange) anyPublic() bool {
	for _, r := range x.snapshot.Routes() {
		if r.Public() {
			return true
		}
	}
	return false
}

// serveBroken answers what the HTTP server could not read.
func (g *Gateway) serveBroken(ctx *fasthttp.RequestCtx, err error) {
	x := g.begin(ctx)
	x.client.unread.Store(true)
	// Whatever could be read of the head has been forgotten by the server.
	line, _, _ := bytes.Cut(x.client.start[:x.client.started], []byte("\n"))
	x.dialect = dialectOf(line, &ctx.Request.Header)
	x.refuse(broken(err, int64(maxBody(x.snapshot.MaxBodyBytes)), g.server.ReadBufferSize))
	x.end()
}

// dialectOf guesses the dialect of a request that resolves to no endpoint.
func dialectOf(path []byte, h *fasthttp.RequestHeader) openai.Dialect {
	if bytes.Contains(path, []byte("/messages")) || len(h.Peek("Anthropic-Version")) > 0 {
		return openai.Anthropic
	}
	return openai.OpenAI
}
