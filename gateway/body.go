package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// maxWindow is how much memory a zstd frame may ask for, in bytes; the format's own recommendation for decoders is 8 MiB.
const maxWindow = 8 << 20

// decoders keep their tables between requests.
type decoders struct{ gzip, zstd sync.Pool }

// decodeBody sets x.body to the request's body with its compression taken off.
func (x *exchange) decodeBody() *openai.Error {
	h := &x.ctx.Request.Header
	if x.endpoint.Body == openai.Form && !bytes.HasPrefix(bytes.ToLower(h.ContentType()), []byte("multipart/form-data")) {
		return &openai.Error{Status: fasthttp.StatusUnsupportedMediaType, Type: "invalid_request_error", Code: "unsupported_media_type",
			Message: "This endpoint takes a multipart/form-data body; the Content-Type header says otherwise."}
	}
	x.body = x.ctx.Request.Body()
	x.received = len(x.body)
	encodings := h.PeekAll("Content-Encoding")
	if len(encodings) == 0 || len(encodings) == 1 && (len(encodings[0]) == 0 || bytes.EqualFold(encodings[0], []byte("identity"))) {
		return nil
	}
	encoding := bytes.ToLower(bytes.TrimSpace(bytes.Join(encodings, []byte(", "))))
	limit := x.snapshot.MaxBodyBytes
	var body []byte
	var err error
	switch string(encoding) {
	case "gzip", "x-gzip":
		body, err = x.gateway.decoders.gunzip(x.body, limit)
	case "zstd":
		body, err = x.gateway.decoders.unzstd(x.body, limit)
	default:
		return &openai.Error{Status: fasthttp.StatusUnsupportedMediaType, Type: "invalid_request_error", Code: "unsupported_content_encoding",
			Message: fmt.Sprintf("The Content-Encoding %.64q is not supported; send gzip, zstd or none.", encoding)}
	}
	switch {
	case err == errInflated:
		return bodyTooLarge(limit)
	case err != nil:
		return &openai.Error{Status: fasthttp.StatusBadRequest, Type: "invalid_request_error", Code: "invalid_content_encoding",
			Message: fmt.Sprintf("The request body is not valid %s.", encoding)}
	}
	x.body, x.decoded = body, true
	return nil
}

var errInflated = errors.New("the decoded body is too large")

func (d *decoders) gunzip(body []byte, limit int64) ([]byte, error) {
	r, _ := d.gzip.Get().(*gzip.Reader)
	if r == nil {
		r = new(gzip.Reader)
	}
	defer d.gzip.Put(r)
	if err := r.Reset(bytes.NewReader(body)); err != nil {
		return nil, err
	}
	return readLimited(r, limit)
}

func (d *decoders) unzstd(body []byte, limit int64) ([]byte, error) {
	r, _ := d.zstd.Get().(*zstd.Decoder)
	if r == nil {
		var err error
		r, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, err
		}
	}
	defer d.zstd.Put(r)
	if err := r.Reset(bytes.NewReader(body)); err != nil {
		return nil, err
	}
	return readLimited(r, limit)
}

// readLimited reads all of r, or fails with errInflated beyond the limit; 0 is no limit.
func readLimited(r io.Reader, limit int64) ([]byte, error) {
	if limit > 0 {
		r = io.LimitReader(r, limit+1)
	}
	b, err := io.ReadAll(r)
	if err != nil {
		return nil, err
	}
	if limit > 0 && int64(len(b)) > limit {
		return nil, errInflated
	}
	return b, nil
}
