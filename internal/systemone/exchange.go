package systemone

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

const (
	maxAnswer   = 64 << 10 // bytes; a larger answer is none
	maxHead     = 64 << 10 // bytes of an answer's head
	maxLeftover = 4 << 10  // bytes read of an answer that is of no use, to keep its connection

	connections = 256              // to one service; more questions at once wait for one of them, within their timeout
	idle        = time.Minute      // after which a connection is closed
	dialing     = 10 * time.Second // a connection goes on to be made after its question has given up, for the next one
)

// newTransport returns a transport whose connections end with life. It knows no proxy, since the text of requests goes
// only where the configuration says; and HTTP/1 only, where giving up a question is closing its connection.
func newTransport(life context.Context) *http.Transport {
	dialer := &net.Dialer{Timeout: dialing}
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	return &http.Transport{
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			stop := context.AfterFunc(life, cancel)
			defer stop()
			conn, err := dialer.DialContext(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &tied{Conn: conn, untie: context.AfterFunc(life, func() { _ = conn.Close() })}, nil
		},
		TLSHandshakeTimeout:    dialing,
		Protocols:              protocols,
		DisableCompression:     true, // what is asked for plain has the size it seems to have
		MaxConnsPerHost:        connections,
		MaxIdleConnsPerHost:    connections,
		IdleConnTimeout:        idle,
		MaxResponseHeaderBytes: maxHead,
	}
}

// tied is a connection that something else may close as well.
type tied struct {
	net.Conn
	untie func() bool
}

// Close implements net.Conn.
func (t *tied) Close() error {
	t.untie()
	return t.Conn.Close()
}

// exchange asks a service once. Redirects are not followed: the answer must come from where the configuration says. What
// is left of an answer that is none is for the caller to drain, once it has told those who wait.
func (c *Client) exchange(ctx context.Context, q *Question) (answer []byte, rest io.ReadCloser, fault *Error) {
	defer func() {
		if p := recover(); p != nil { // a question costs no more than itself
			answer, fault = nil, &Error{Result: Malformed, Reason: "panic", Detail: fmt.Sprintf("reading the answer failed: %T", p)}
		}
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, q.Endpoint+"/v1/systemone", bytes.NewReader(q.Body))
	if err != nil {
		return nil, nil, &Error{Result: Unreachable, Detail: "the endpoint is not a URL"}
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json")
	request.Header.Set("User-Agent", "gpustack-gateway")
	// Without a value it is not sent, but it tells the transport that asking again does no harm, when a kept-alive
	// connection turns out to be closed.
	request.Header["Idempotency-Key"] = nil
	if token := q.Token.Reveal(); token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := c.transport.RoundTrip(request) //nolint:bodyclose // drain does
	if err != nil {
		return nil, nil, brokenError(ctx, err, q.Timeout)
	}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, response.Body, statusError(response.StatusCode)
	}
	answer, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil:
		return nil, response.Body, brokenError(ctx, err, q.Timeout)
	case len(answer) > maxAnswer:
		return nil, response.Body, &Error{Result: TooLarge, Detail: "the answer is larger than 64 KiB"}
	}
	if err := q.Accept(answer); err != nil {
		return nil, response.Body, &Error{Result: Malformed, Reason: err.Error(), Detail: "the answer is not believed: " + err.Error()}
	}
	return answer, response.Body, nil
}

// drain reads the little that may be left of an answer, so that its connection can be used again, and closes it.
func drain(rest io.ReadCloser) {
	if rest == nil {
		return
	}
	_, _ = io.CopyN(io.Discard, rest, maxLeftover)
	_ = rest.Close()
}
