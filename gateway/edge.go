package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
	"github.com/gpustack/gpustack-gateway/route"
)

// What happens before a request is whole: its size, a client that asks whether it should send its body, and what can't
// be read at all.

// strangersBody is how much is read of a request that nobody known sends, in bytes. The HTTP server takes the memory for a
// body when it is announced: a few hundred strangers could have all there is without sending a byte.
const strangersBody = 64 << 10

// headerReceived says how large the body may be.
func (g *Gateway) headerReceived(h *fasthttp.RequestHeader) fasthttp.RequestConfig {
	s := g.table.Load()
	limit := maxBody(s.MaxBodyBytes)
	if n := h.ContentLength(); limit > strangersBody && (n > strangersBody || n == -1) && stranger(s, h) {
		limit = strangersBody
	}
	return fasthttp.RequestConfig{MaxRequestBodySize: limit}
}

// stranger reports whether a request will be refused for its key, whatever it asks for.
func stranger(s *route.Snapshot, h *fasthttp.RequestHeader) bool {
	secret, err := credential(h)
	if err != nil {
		return true
	}
	_, unknown := s.Caller(secret, time.Now())
	return (unknown != nil || len(secret) == 0) && !s.Public
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
	if stranger(x.snapshot, h) {
		return unauthorized(len(secret) > 0)
	}
	return nil
}

// serveBroken answers what the HTTP server could not read.
func (g *Gateway) serveBroken(ctx *fasthttp.RequestCtx, err error) {
	x := g.begin(ctx)
	x.client.unread.Store(true)
	// Whatever could be read of the head has been forgotten by the server.
	line, _, _ := bytes.Cut(x.client.start[:x.client.started], []byte("\n"))
	x.dialect = dialectOf(line, &ctx.Request.Header)
	if errors.Is(err, fasthttp.ErrBodyTooLarge) {
		x.refuse(x.oversize())
	} else {
		x.refuse(broken(err, g.server.ReadBufferSize))
	}
	x.end()
}

// oversize says why a body was not read to its end. Of one in chunks the server has forgotten the head by now.
func (x *exchange) oversize() *openai.Error {
	e := bodyTooLarge(int64(maxBody(x.snapshot.MaxBodyBytes)))
	if x.ctx.Request.Header.ContentLength() > 0 {
		if refused := x.unwelcome(); refused != nil {
			return refused
		}
	} else if !x.snapshot.Public {
		e.Message += fmt.Sprintf(" Without a valid key it is %d.", strangersBody)
	}
	return e
}

// dialectOf guesses the dialect of a request that resolves to no endpoint.
func dialectOf(path []byte, h *fasthttp.RequestHeader) openai.Dialect {
	if bytes.Contains(path, []byte("/messages")) || len(h.Peek("Anthropic-Version")) > 0 {
		return openai.Anthropic
	}
	return openai.OpenAI
}
