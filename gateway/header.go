package gateway

import (
	"bytes"
	"strings"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

const requestIDHeader = "X-Request-Id"

// dropRequestHeader reports whether a client's header stays here. Names are in canonical form.
//
// What describes the connection or the framing is made anew (RFC 9110, section 7.6.1), and so is the address. The
// client's credentials and cookies are for the gateway alone; Expect has been answered by it.
func dropRequestHeader(name []byte) bool {
	switch string(name) {
	case "Host", "Content-Length", "Expect",
		"Connection", "Keep-Alive", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade", "Http2-Settings",
		"Authorization", "X-Api-Key", "Api-Key", "X-Goog-Api-Key", "Proxy-Authorization", "Cookie", "Cookie2",
		// What GPUStack's parts say among themselves: a client that could say it might choose an instance or a caller.
		"X-Gpustack-Auth-Token", "X-Gpustack-Access-Key", "X-Gpustack-Key-Ref", "X-Gpustack-Model-Instance",
		"X-Mse-Consumer", "X-Higress-Fallback-From",
		requestIDHeader:
		return true
	}
	return misnamed(name)
}

// misnamed reports whether a name has a space in it, the one character beyond those of a token that the parser lets pass:
// what the next one makes of such a line is anybody's guess.
func misnamed(name []byte) bool { return bytes.IndexByte(name, ' ') >= 0 }

// dropTrailers forgets what was sent behind the body, which the parser shows as if it were headers. It is none: whoever
// checked the head has not seen it (RFC 9110, section 6.5.1).
func dropTrailers(h *fasthttp.RequestHeader) {
	for _, name := range h.PeekTrailerKeys() {
		h.DelBytes(name)
	}
}

// dropResponseHeader reports whether an upstream's header stays here: the connection's own, the framing, and cookies,
// which would come back to an upstream that is never to see any. Date is the gateway's own, as the HTTP server sets it.
func dropResponseHeader(name []byte) bool {
	switch string(name) {
	case "Content-Length", "Date", "Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Te", "Trailer",
		"Transfer-Encoding", "Upgrade", "Set-Cookie", "Set-Cookie2", "X-Gpustack-Route-By", "X-Gpustack-Target", "X-Gpustack-Instance":
		return true
	}
	return misnamed(name)
}

// named reports whether a Connection header lists a header's name: such a one is for the next hop only.
func named(connection [][]byte, name []byte) bool {
	for _, list := range connection {
		for token := range bytes.SplitSeq(list, []byte(",")) {
			if bytes.EqualFold(bytes.TrimSpace(token), name) {
				return true
			}
		}
	}
	return false
}

// changes are what the gateway does to a request or its answer that a client's header would be wrong about.
type changes struct {
	decoded bool // the body's compression has been taken off
	traced  bool // the gateway has a span of its own
	plain   bool // the answer must not be compressed
}

// drop reports whether a client's header would be wrong.
func (c changes) drop(name []byte) bool {
	switch string(name) {
	case "Content-Encoding":
		return c.decoded
	case traceparentHeader, tracestateHeader:
		return c.traced
	case "Accept-Encoding":
		return c.plain
	}
	return false
}

// appendRequestHeaders appends the client's headers that cross, as lines.
func appendRequestHeaders(dst []byte, h *fasthttp.RequestHeader, c changes) []byte {
	connection := h.PeekAll("Connection")
	for name, value := range h.All() {
		if dropRequestHeader(name) || c != (changes{}) && c.drop(name) || len(connection) > 0 && named(connection, name) {
			continue
		}
		dst = appendHeader(dst, name, value)
	}
	if c.plain {
		dst = appendHeader(dst, "Accept-Encoding", "identity")
	}
	return dst
}

// copyResponseHeaders copies the upstream's headers that cross. The status is not touched.
func copyResponseHeaders(dst, src *fasthttp.ResponseHeader) {
	connection := src.PeekAll("Connection")
	for name, value := range src.All() {
		if dropResponseHeader(name) || len(connection) > 0 && named(connection, name) {
			continue
		}
		dst.AddBytesKV(name, value)
	}
}

func appendHeader[N, V string | []byte](dst []byte, name N, value V) []byte {
	dst = append(dst, name...)
	dst = append(dst, ": "...)
	dst = append(dst, value...)
	return append(dst, "\r\n"...)
}

// credential returns the secret that a request presents: a bearer token (the scheme in any case), or x-api-key. One
// header twice, or both with different secrets, is an error: which of them counts must not be a guess.
func credential(h *fasthttp.RequestHeader) ([]byte, *openai.Error) {
	authorization, err := single(h, "Authorization")
	if err != nil {
		return nil, err
	}
	key, err := single(h, "X-Api-Key")
	if err != nil {
		return nil, err
	}
	var bearer []byte
	if len(authorization) > 0 {
		scheme, token, _ := bytes.Cut(authorization, []byte(" "))
		if !bytes.EqualFold(scheme, []byte("Bearer")) {
			return nil, ambiguousKey("The Authorization header must be of the form 'Bearer KEY'.")
		}
		bearer = bytes.Trim(token, " \t")
	}
	switch {
	case len(bearer) == 0:
		return key, nil
	case len(key) > 0 && !bytes.Equal(bearer, key):
		return nil, ambiguousKey("Authorization and x-api-key hold different keys; send one of them.")
	}
	return bearer, nil
}

func single(h *fasthttp.RequestHeader, name string) ([]byte, *openai.Error) {
	values := h.PeekAll(name)
	switch len(values) {
	case 0:
		return nil, nil
	case 1:
		return bytes.Trim(values[0], " \t"), nil
	}
	return nil, ambiguousKey("The " + name + " header was sent more than once; send it once.")
}

// saneID reports whether a client's request id may be used as it is: short, and nothing that a log or a header could
// mistake for something else.
func saneID(id []byte) bool {
	if len(id) == 0 || len(id) > 128 {
		return false
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c|0x20 < 'a' || c|0x20 > 'z') && strings.IndexByte("-_.:/+=@", c) < 0 {
			return false
		}
	}
	return true
}
