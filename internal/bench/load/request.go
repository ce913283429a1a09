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

// turn counts requests: by it each has its session, and its route and key where there are several.
var turn atomic.Uint32

// Request is a request as bytes, to be written again and again: a chat whose body has a given length.
type Request struct {
	text   []byte
	events int // in the answer, if it is a stream; less than 0: without an end
	vary   []digits
}

// digits is a number in the request's text that differs from one time to the next.
type digits struct {
	at, width int
	below     uint32 // it is less than this
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
	fmt.Fprintf(&b, "%s: %s\r\nSession-Id: session-000000\r\nContent-Length: %d\r\n\r\n%s%s%s", engine.Header, order.Append(nil),
		len(front)+fill+len(back), front, strings.Repeat("a", fill), back)
	r := &Request{text: b.Bytes(), events: order.Events}
	r.varyBehind("Session-Id: session-", sessions)
	return r
}

// Vary has the requests ask by turns for so many routes, with so many keys. The name of the one and the secret of the
// other end in six digits, and begin as those do that the request was made for.
func (r *Request) Vary(routes, keys int) *Request {
	r.varyBehind(`"model":"`, routes)
	r.varyBehind("Authorization: Bearer ", keys)
	return r
}

// varyBehind varies the first six digits behind a text.
func (r *Request) varyBehind(behind string, below int) {
	const width = 6
	at := bytes.Index(r.text, []byte(behind)) + len(behind)
	at += bytes.IndexAny(r.text[at:], "0123456789")
	r.vary = append(r.vary, digits{at, width, uint32(below)})
}

// copyFor returns a copy that one connection may write numbers into.
func (r *Request) copyFor() *Request {
	mine := *r
	mine.text = bytes.Clone(r.text)
	return &mine
}

// send writes the request with the next numbers.
func (r *Request) send(c net.Conn) error {
	t := turn.Add(1)
	for _, d := range r.vary {
		n := t % d.below
		for i := d.at + d.width - 1; i >= d.at; i-- {
			r.text[i] = byte('0' + n%10)
			n /= 10
		}
	}
	_, err := c.Write(r.text)
	return err
}
