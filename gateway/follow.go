package gateway

import (
	"bytes"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// follower learns from an answer as it passes, without changing or keeping a byte of it: what it says of tokens, the id
// of a response that others may go on from, whether it is an error after all. An answer that is compressed passes
// unread.
type follower struct {
	stream bool // the answer is an event stream that can be read
	whole  bool // the answer is JSON that can be read once it is there whole
	wants  bool // the id of the response is still to come

	events openai.Events
	usage  openai.Usage
	class  openai.Class // the most that any event was so far
	failed bool         // an event was an error
}

// begin looks at the head of an answer.
func (f *follower) begin(h *fasthttp.ResponseHeader, e *openai.Endpoint) {
	*f = follower{events: f.events, wants: e.Name == "responses"}
	f.events.Reset()
	if encoding := h.ContentEncoding(); len(encoding) > 0 && string(encoding) != "identity" {
		return
	}
	f.stream = eventStream(h)
	f.whole = bytes.HasPrefix(h.ContentType(), []byte("application/json"))
}

// read takes in a piece of the answer's body.
func (x *exchange) follow(piece []byte) {
	f := &x.follower
	if !f.stream {
		return
	}
	for len(piece) > 0 {
		n, e, ok := f.events.Next(piece)
		piece = piece[n:]
		if ok {
			x.followEvent(e)
		}
	}
}

// Most events of a stream are a word of text. What may matter in one is found by these, at the price of a search.
var (
	usageMark = []byte(`"usage"`)
	errorMark = []byte(`error`)
)

func (x *exchange) followEvent(e openai.Event) {
	f := &x.follower
	if f.class == openai.Harmless || bytes.Contains(e.Data, errorMark) || len(e.Name) > 0 && isEnd(e.Name) {
		class := openai.Classify(e)
		f.class = max(f.class, class)
		f.failed = f.failed || class == openai.Failure
	}
	if bytes.Contains(e.Data, usageMark) {
		f.usage.Read(e.Data)
	}
	if f.wants {
		x.learnResponse(e.Data)
	}
}

// isEnd reports whether an event's name says that the answer ends badly.
func isEnd(name []byte) bool { return string(name) == "error" || string(name) == "response.failed" }

// followWhole takes in an answer that is there to its end.
func (x *exchange) followWhole() {
	f := &x.follower
	if !f.whole || !x.whole || len(x.answer) == 0 {
		return
	}
	f.usage.Read(x.answer)
	if f.wants {
		x.learnResponse(x.answer)
	}
}

// learnResponse notes who made a response, so that what goes on from it goes there, too.
func (x *exchange) learnResponse(data []byte) {
	id := openai.ResponseID(data)
	if len(id) == 0 {
		return
	}
	x.follower.wants = false
	if x.lease.Held() {
		x.gateway.chains.learn(id, link{route: x.route.Name, candidate: x.lease.Candidate().Key})
	}
}

// heartbeat is what a client is sent when its stream has been silent: a comment, or on Anthropic's API the event that is
// made for it.
func (x *exchange) heartbeat() []byte {
	if x.endpoint.Dialect == openai.Anthropic {
		return []byte("event: ping\ndata: {\"type\": \"ping\"}\n\n")
	}
	return []byte(": still running\n\n")
}

// beats reports whether the client may be sent a heartbeat now: between two events, and never into one.
func (x *exchange) beats() bool { return x.follower.stream && x.follower.events.Between() }

// How long and how far a stream is read for its first event that says something.
const (
	maxPeek     = 64 << 10
	maxPeekWait = 2 * time.Second
)

// peek reads the beginning of a stream, if the route wants that, and reports whether it turned out to be an error.
func (x *exchange) peek() (failed bool, err error) {
	if !x.route.Retry.PeekFirstEvent || !x.follower.stream {
		return false, nil
	}
	until := time.Now().Add(maxPeekWait)
	for x.follower.class == openai.Harmless && len(x.answer) < maxPeek && !x.up.Complete() {
		more, err := x.collectOne(until)
		if err != nil {
			return false, err
		}
		if !more {
			break
		}
	}
	return x.follower.failed, nil
}
