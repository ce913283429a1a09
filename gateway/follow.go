package gateway

import (
	"bytes"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"github.com/gpustack/gpustack-gateway/openai"
)

// follower learns from an answer as it passes, without changing or keeping a byte of it: what it says of tokens, the id
// of a response that others may go on from, whether it is an error after all. An answer that is compressed passes
// unread until its end, and unread altogether if it is long.
type follower struct {
	stream bool // the answer is an event stream that can be read
	whole  bool // the answer is JSON that can be read once it is there whole
	wants  bool // the id of the response is still to come

	passes bool   // the JSON passes before it is whole, and only its beginning and its end are read
	begun  bool   // its beginning has been
	end    []byte // of it, as far as it has come
	hides  bool   // the client did not ask for the event that tells the usage: the gateway did
	coding string // the answer is compressed so, and looked at when it is there whole
	packed []byte // what has come of it, as long as that is not too much

	events openai.Events
	usage  openai.Usage
	held   []byte       // the beginning of an event that may have to be hidden
	out    []byte       // what is passed on, while hides
	class  openai.Class // the most that any event was so far
	failed bool         // an event was an error
}

// reset forgets the answer. It keeps memory up to a bound.
func (f *follower) reset() {
	*f = follower{events: f.events, end: reusable(f.end), held: reusable(f.held), out: reusable(f.out)}
	f.events.Reset()
}

// begin looks at the head of an answer.
func (f *follower) begin(h *fasthttp.ResponseHeader, e *openai.Endpoint, asked bool) {
	f.reset()
	f.wants = e.Name == "responses"
	f.stream = eventStream(h)
	f.whole = !f.stream && bytes.HasPrefix(h.ContentType(), []byte("application/json"))
	if encoding := h.ContentEncoding(); len(encoding) > 0 && string(encoding) != "identity" {
		if f.stream || f.whole {
			f.coding = strings.ToLower(string(encoding)) // in any case (RFC 9110, section 8.4)
		}
		f.stream, f.whole = false, false
	}
	f.hides = asked && f.stream
}

// follow takes in a piece of the answer's body, and returns what of it is passed on: all of it, except for the event that
// tells the usage to a client that did not ask.
func (x *exchange) follow(piece []byte) []byte {
	f := &x.follower
	switch {
	case f.coding != "":
		f.pack(piece)
		return piece
	case f.hides:
		return x.filter(piece)
	case f.passes:
		x.followLong(piece)
		return piece
	case !f.stream:
		return piece
	}
	for rest := piece; len(rest) > 0; {
		n, e, ok := f.events.Next(rest)
		rest = rest[n:]
		if ok {
			x.followEvent(e)
		}
	}
	return piece
}

// filter passes whole events on: the beginning of one is held back until its end tells whether the client asked for it.
func (x *exchange) filter(piece []byte) []byte {
	f := &x.follower
	f.out = f.out[:0]
	for len(piece) > 0 {
		n, e, ok := f.events.Next(piece)
		f.held = append(f.held, piece[:n]...)
		piece = piece[n:]
		if ok {
			x.followEvent(e)
		}
		switch {
		case ok && openai.UsageOnly(e):
			f.held = f.held[:0]
		case ok, len(f.held) > openai.MaxEvent: // what is that long is not it
			f.out = append(f.out, f.held...)
			f.held = f.held[:0]
		}
	}
	return f.out
}

// flush returns what is held back when nothing more comes: the end of a stream that no empty line closes.
func (f *follower) flush() []byte {
	held := f.held
	f.held = nil
	return held
}

// followEnd takes in what the end of a stream tells.
func (x *exchange) followEnd() {
	f := &x.follower
	switch {
	case f.coding != "":
		x.followPacked()
	case f.passes:
		f.usage.ReadEnd(f.end)
	case f.stream:
		if e, ok := f.events.End(); ok {
			x.followEvent(e)
		}
	}
	if f.failed {
		x.outcome = upstreamError // as the stream itself said
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
	if f.coding != "" {
		x.followPacked()
		return
	}
	if !f.whole || !x.whole || len(x.answer) == 0 {
		return
	}
	f.usage.Read(x.answer)
	if f.wants {
		x.learnResponse(x.answer)
	}
}

// maxEnd is how much is kept of the end of a long answer. Its usage takes some hundred bytes, and little stands behind.
const maxEnd = 4 << 10

// followLong takes in a piece of a JSON answer that passes before it is whole. Its usage stands behind everything else, or
// before it.
func (x *exchange) followLong(piece []byte) {
	f := &x.follower
	if !f.begun && len(piece) > 0 {
		f.begun = true
		f.usage.Read(piece)
		if f.wants {
			x.learnResponse(piece)
		}
	}
	if len(piece) >= maxEnd {
		f.end = append(f.end[:0], piece[len(piece)-maxEnd:]...)
		return
	}
	if len(f.end)+len(piece) > 2*maxEnd {
		f.end = f.end[:copy(f.end, f.end[len(f.end)-maxEnd:])]
	}
	f.end = append(f.end, piece...)
}

// learnResponse notes who made a response, so that what goes on from it goes there, too.
func (x *exchange) learnResponse(data []byte) {
	id := openai.ResponseID(data)
	if len(id) == 0 {
		return
	}
	x.follower.wants = false
	if x.lease.Held() {
		x.chain = x.gateway.chains.learn(id, link{route: x.route.Name, candidate: x.lease.Candidate().Key})
	}
}

// countOnce forgets the usage that an answer tells of a response whose usage has been counted: whoever reads it again
// does not use its tokens again. One that is made in the background tells them only to whoever reads it later.
func (x *exchange) countOnce() {
	if u := &x.follower.usage; u.Known && x.chain != (chain{}) && !x.gateway.chains.counts(x.chain) {
		*u = openai.Usage{}
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
