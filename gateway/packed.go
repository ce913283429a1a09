package gateway

import (
	"bytes"
	"io"

	"github.com/valyala/fasthttp"
)

// What is looked at of an answer that comes compressed. It passes as it is; a copy of it is kept until its end, when its
// usage can be read. Of a longer one the usage is not known.
const (
	maxPacked   = 256 << 10
	maxUnpacked = 4 << 20
)

// pack keeps a piece of a compressed answer.
func (f *follower) pack(piece []byte) {
	if len(f.packed)+len(piece) > maxPacked {
		f.coding, f.packed = "", nil
		return
	}
	f.packed = append(f.packed, piece...)
}

// followPacked looks at a compressed answer that has come to its end.
func (x *exchange) followPacked() {
	f := &x.follower
	body, ok := x.gateway.decoders.unpack(f.coding, f.packed)
	f.coding, f.packed = "", nil
	if !ok || len(body) == 0 {
		return
	}
	if body[0] == '{' {
		f.usage.Read(body)
		if f.wants {
			x.learnResponse(body)
		}
		return
	}
	f.stream = true
	x.follow(body)
	if e, ok := f.events.End(); ok {
		x.followEvent(e)
	}
}

// unpack takes the compression off; ok is false for one that is not known, not right, or too long.
func (d *decoders) unpack(coding string, packed []byte) (body []byte, ok bool) {
	var err error
	switch coding {
	case "gzip", "x-gzip":
		body, err = d.gunzip(packed, maxUnpacked)
	case "zstd":
		body, err = d.unzstd(packed, maxUnpacked)
	case "deflate": // which HTTP means zlib by (RFC 9110, section 8.4.1.2)
		out := &bounded{}
		_, err = fasthttp.WriteInflate(out, packed)
		body = out.Bytes()
	case "br":
		out := &bounded{}
		_, err = fasthttp.WriteUnbrotli(out, packed)
		body = out.Bytes()
	default:
		return nil, false
	}
	return body, err == nil
}

// bounded is a buffer that refuses to grow beyond maxUnpacked.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxUnpacked {
		return 0, io.ErrShortBuffer
	}
	return b.Buffer.Write(p)
}
