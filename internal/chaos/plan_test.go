package chaos

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// plan is everything that will be asked, and what the engines will make of it, as far as one can know before: it follows
// from the seed alone. What the clock adds, such as who is chosen and which limit runs out first, no plan can repeat.
type plan struct {
	seed     uint64
	requests []request
}

// request is one request and what its client does meanwhile.
type request struct {
	number  int
	kind    kind
	route   string
	api     api
	stream  bool
	chunked bool // the body is sent in chunks
	old     bool // HTTP/1.0
	session int  // 0: none
	chained bool // goes on from a response that its client knows
	padding int  // bytes that make the body longer
	leaves  leaves
	how     int           // one of the ways to leave
	after   int           // bytes that come first, of the request or of the answer
	patient time.Duration // before the client leaves
}

type kind int

const (
	inference kind = iota
	retrieval      // of a response that its client knows
	models         // the list, which the gateway knows by itself
	keyless        // on a route that wants a key
	unknown        // model
	malformed      // body
)

type api struct{ name, path string }

func apis() []api {
	return []api{{"chat", "/v1/chat/completions"}, {"responses", "/v1/responses"}, {"messages", "/v1/messages"}}
}

// leaves is when a client leaves.
type leaves int

const (
	never     leaves = iota
	uploading        // the request is not sent to its end
	waiting          // nothing has come yet, or by chance it has
	reading          // part of the answer has come
	stalling         // it only stops reading, for longer than it may
)

// The ways to leave.
const (
	byClosing = iota
	byReset
	byShuttingDown // its sending side
	ways
)

func newPlan(seed uint64, n int) *plan {
	p := &plan{seed: seed, requests: make([]request, n)}
	for i := range p.requests {
		p.requests[i] = p.draw(i)
	}
	return p
}

// rand is a source of numbers for one part of the plan.
func (p *plan) rand(part, number int) *rand.Rand {
	return rand.New(rand.NewPCG(p.seed, uint64(part)<<32|uint64(number)))
}

// chance is true in so many of a thousand cases.
func chance(r *rand.Rand, perMille int) bool { return r.IntN(1000) < perMille }

func (p *plan) draw(number int) request {
	r := p.rand(0, number)
	q := request{number: number, route: names[r.IntN(len(names))], api: apis()[r.IntN(3)], stream: chance(r, 600)}
	switch n := r.IntN(1000); {
	case n < 10:
		q.kind = models
	case n < 20:
		q.kind, q.route = keyless, "keyed"
	case n < 30:
		q.kind, q.route = unknown, "nobody-knows"
	case n < 40:
		q.kind = malformed
	case n < 60:
		q.kind = retrieval
	}
	q.chunked, q.old = chance(r, 200), chance(r, 30)
	if q.old {
		q.chunked = false // HTTP/1.0 knows no chunks
	}
	if chance(r, 500) {
		q.session = 1 + r.IntN(50)
	}
	q.chained = q.api.name == "responses" && chance(r, 500)
	switch n := r.IntN(1000); {
	case n < 5:
		q.padding = 500_000
	case n < 100:
		q.padding = r.IntN(50_000)
	default:
		q.padding = r.IntN(500)
	}
	p.drawLeaving(r, &q)
	return q
}

func (p *plan) drawLeaving(r *rand.Rand, q *request) {
	q.how = r.IntN(ways)
	switch n := r.IntN(1000); {
	case q.kind == models || q.kind == retrieval:
	case n < 60:
		q.leaves = uploading
		q.after = r.IntN(1000)
		q.padding += 1000
	case n < 150:
		q.leaves = waiting
		q.patient = time.Duration(r.IntN(20_000)) * time.Microsecond
	case n < 260:
		q.leaves = reading
		q.after = 1 + r.IntN(3000)
	case n < 264:
		q.leaves, q.after = stalling, 4000
	}
}

// turn is what an engine makes of one receipt of a request: the n-th, as the gateway may send it several times.
type turn struct {
	sim.Behaviour        // without what is said
	status        int    // 200 or an error
	events        int    // of a stream, with the error if it ends with one
	failing       bool   // the last event is an error
	filler        string // in every event
}

func (p *plan) turn(q *request, n int) turn {
	r := p.rand(1+n, q.number)
	t := turn{status: 200, events: 1 + r.IntN(20), filler: strings.Repeat("x", r.IntN(200))}
	switch n := r.IntN(1000); {
	case q.leaves == stalling:
		t.events, t.filler = 80, strings.Repeat("w", 60_000)
	case n < 3:
		t.events, t.filler = 40, strings.Repeat("y", 60_000)
	case n < 20:
		t.filler = strings.Repeat("z", 1500)
	}
	t.HeadDelay = time.Duration(r.IntN(8_000)) * time.Microsecond
	t.FirstToken = time.Duration(r.IntN(4_000)) * time.Microsecond
	if len(t.filler) < 1000 {
		t.BetweenTokens = time.Duration(r.IntN(2_000)) * time.Microsecond
		if chance(r, 50) {
			t.BetweenTokens = time.Duration(r.IntN(60)) * time.Millisecond
		}
		if chance(r, 50) {
			t.SplitWrites = 1 + r.IntN(100)
		}
	}
	if chance(r, 30) {
		t.HeadDelay = time.Duration(r.IntN(200)) * time.Millisecond
	}
	if chance(r, 50) {
		t.Interim = 102 + r.IntN(2)
	}
	if chance(r, 100) {
		t.CloseAfterRequests = 1 + r.IntN(3)
	}
	t.Framing = []sim.Framing{sim.Usual, sim.Usual, sim.Usual, sim.Chunked, sim.ContentLength, sim.CloseDelimited}[r.IntN(6)]
	if chance(r, 350) {
		t.breaks(r, q)
	}
	return t
}

// breaks has something go wrong.
func (t *turn) breaks(r *rand.Rand, q *request) {
	fault := func(kind sim.FaultKind, after int) {
		t.Fault = sim.Fault{Kind: kind, After: after}
		if t.Framing == sim.CloseDelimited {
			t.Framing = sim.Chunked // or else to break off would be to end well
		}
	}
	events := t.events
	if !q.stream {
		events = 1 // a whole answer; what comes after it is no fault of it
	}
	switch r.IntN(20) {
	case 0:
		fault(sim.ResetReused, 0)
	case 1:
		fault(sim.CloseReused, 0)
	case 2:
		fault(sim.ResetBeforeHead, 0)
	case 3:
		fault(sim.CloseBeforeHead, 0)
	case 4:
		fault(sim.ResetAfterHead, 0)
	case 5, 6:
		fault(sim.ResetAfterEvents, r.IntN(events))
	case 7, 8:
		fault(sim.CloseAfterEvents, r.IntN(events))
	case 9:
		fault(sim.ResetAfterBytes, 1+r.IntN(400))
	case 10:
		fault(sim.CloseAfterBytes, 1+r.IntN(400))
	case 11:
		fault(sim.ShortBody, r.IntN(100))
	case 12:
		t.falls(r, sim.Silent, 0, fault)
	case 13:
		t.falls(r, sim.HeadThenSilence, 0, fault)
	case 14:
		t.falls(r, sim.SilentAfterEvents, r.IntN(events), fault)
	case 15, 16:
		if q.stream {
			t.events, t.failing = 1+r.IntN(4), true
		}
	default:
		t.status = []int{400, 404, 422, 429, 500, 502, 503, 504}[r.IntN(8)]
	}
}

// falls makes an engine fall silent, which is rarer than the rest since it takes as long as the gateway waits.
func (t *turn) falls(r *rand.Rand, kind sim.FaultKind, after int, fault func(sim.FaultKind, int)) {
	if chance(r, 200) {
		fault(kind, after)
	} else {
		t.status = 503
	}
}

// body is what an engine says: it follows from the plan, and no two receipts are told the same.
func (t *turn) body(q *request, mark string) string {
	switch {
	case t.status != 200:
		return refusal(t.status, mark)
	case !q.stream || q.kind == retrieval:
		return fmt.Sprintf(`{"id":"resp_%s","object":"answer","text":"%s","usage":{"input_tokens":3,"output_tokens":4}}`,
			mark, strings.Repeat(t.filler+" "+mark+" ", t.events))
	}
	var b strings.Builder
	for i := range t.events {
		b.WriteString(t.event(q, mark, i, i == t.events-1))
	}
	if q.api.name == "chat" && !t.failing {
		b.WriteString("data: [DONE]\n\n")
	}
	return b.String()
}

func (t *turn) event(q *request, mark string, i int, last bool) string {
	fails := last && t.failing
	switch q.api.name {
	case "chat":
		if fails {
			return fmt.Sprintf("data: {\"error\":{\"message\":\"overloaded: %s\"}}\n\n", mark)
		}
		return fmt.Sprintf("data: {\"id\":\"%s\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"%d %s %s\"}}]}\n\n", mark, i, mark, t.filler)
	case "responses":
		name := "response.output_text.delta"
		switch {
		case fails:
			return fmt.Sprintf("event: error\ndata: {\"type\":\"error\",\"message\":\"%s\"}\n\n", mark)
		case i == 0:
			name = "response.created"
		case last:
			name = "response.completed"
		}
		return fmt.Sprintf("event: %s\ndata: {\"type\":\"%[1]s\",\"sequence_number\":%d,\"response\":{\"id\":\"resp_%s\"},\"delta\":\"%s\"}\n\n", name, i, mark, t.filler)
	}
	name := "content_block_delta"
	switch {
	case fails:
		return fmt.Sprintf("event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"%s\"}}\n\n", mark)
	case i == 0:
		name = "message_start"
	case last:
		name = "message_stop"
	}
	return fmt.Sprintf("event: %s\ndata: {\"type\":\"%[1]s\",\"index\":%d,\"delta\":\"%s %s\"}\n\n", name, i, mark, t.filler)
}

// refusal is the body of an error of an engine.
func refusal(status int, mark string) string {
	return fmt.Sprintf(`{"error":{"message":"an engine says %d to %s","type":"server_error","code":"made_up"}}`, status, mark)
}
