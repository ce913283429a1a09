package load

import (
	"bytes"
	"fmt"
	"net"
	"strings"
	"sync/atomic"

	"github.com/gpustack/gpustack-gateway/internal/bench/engine"
)

// Target is what is measured, as its clients see it.
type Target struct {
	Addr string // host:port
	Key  string // API key; "" for none
}

// sessions is how many sessions the requests of a run belong to.
const sessions = 1000

// session counts requests, to give each its session.
var session atomic.Uint32

// Request is a request as bytes, to be written again and again: a chat whose body has a given length.
type Request struct {
	text   []byte
	events int // in the answer, if it is a stream; less than 0: without an end
	id     int // where the digits of the session id are
}

// NewRequest makes a request of a body of so many bytes, a few more than its JSON takes at least, that the engine is to
// answer as ordered.
func NewRequest(t Target, model string, body int, order engine.Order) *Request {
	stream := order.Events != 0
	front := fmt.Sprintf(`{"model":%q,"stream":%t,"temperature":0.7,"messages":[{"role":"system","content":"You are a helpful assistant."},`+
		`{"role":"user","content":"`, model, stream)
	const back = `"}]}`
	fill := max(0, body-len(front)-len(back))
	var b bytes.Buffer
	fmt.Fprintf(&b, "POST /v1/chat/completions HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nUser-Agent: bench\r\n", t.Addr)
	if t.Key != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", t.Key)
	}
	fmt.Fprintf(&b, "%s: %s\r\nSession-Id: session-", engine.Header, order.Append(nil))
	id := b.Len()
	fmt.Fprintf(&b, "0000\r\nContent-Length: %d\r\n\r\n%s%s%s", len(front)+fill+len(back), front, strings.Repeat("a", fill), back)
	return &Request{text: b.Bytes(), id: id, events: order.Events}
}

// copyFor returns a copy that one connection may write the session id of.
func (r *Request) copyFor() *Request {
	return &Request{text: bytes.Clone(r.text), id: r.id, events: r.events}
}

// send writes the request under the next session.
func (r *Request) send(c net.Conn) error {
	n := session.Add(1) % sessions
	for i := 3; i >= 0; i-- {
		r.text[r.id+i] = byte('0' + n%10)
		n /= 10
	}
	_, err := c.Write(r.text)
	return err
}
