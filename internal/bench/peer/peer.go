// Package peer holds the two proxies that people would write in an afternoon: one on fasthttp, one on net/http. They
// forward everything by turns to some addresses, and know nothing.
package peer

import (
	"context"
	"log"
	"math"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"

	"github.com/valyala/fasthttp"
)

// Fasthttp serves a proxy made of fasthttp's server and its client for one host, which takes several addresses.
func Fasthttp(ln net.Listener, addrs []string) error {
	client := &fasthttp.HostClient{
		Addr: strings.Join(addrs, ","), MaxConns: math.MaxInt32, StreamResponseBody: true,
		NoDefaultUserAgentHeader: true,
	}
	server := &fasthttp.Server{
		MaxRequestBodySize: 1 << 30, NoDefaultServerHeader: true, NoDefaultContentType: true,
		Handler: func(ctx *fasthttp.RequestCtx) {
			ctx.Request.Header.Del(fasthttp.HeaderConnection)
			if err := client.Do(&ctx.Request, &ctx.Response); err != nil {
				ctx.Error(err.Error(), fasthttp.StatusBadGateway)
				return
			}
			ctx.Response.Header.Del(fasthttp.HeaderConnection)
			// The head of a stream must not wait for its first event.
			ctx.Response.ImmediateHeaderFlush = ctx.Response.Header.ContentLength() < 0
		},
	}
	return server.Serve(ln)
}

// NetHTTP serves httputil.ReverseProxy with a transport that keeps its connections.
func NetHTTP(ln net.Listener, addrs []string) error {
	var turn atomic.Uint64
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = addrs[turn.Add(1)%uint64(len(addrs))]
		},
		Transport:     &http.Transport{MaxIdleConnsPerHost: math.MaxInt32, DisableCompression: true, DialContext: dial},
		FlushInterval: -1, // every piece of a stream at once
		ErrorLog:      log.New(log.Writer(), "net/http: ", 0),
	}
	return http.Serve(ln, proxy)
}

func dial(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, network, addr)
}
