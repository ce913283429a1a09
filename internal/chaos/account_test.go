package chaos

import (
	"bytes"
	"encoding/json"
	"net/http/httptest"
	"strconv"
	"strings"

	"github.com/gpustack/gpustack-gateway/internal/sim"
)

// line is a line of the log.
type line struct {
	Message  string  `json:"message"`
	ID       string  `json:"request_id"`
	Route    string  `json:"route"`
	Status   int     `json:"status"`
	Outcome  string  `json:"outcome"`
	Attempts int     `json:"attempts"`
	Fallback bool    `json:"fallback"`
	BytesOut int64   `json:"bytes_out"`
	Error    string  `json:"error"`
	Panic    any     `json:"panic"`
	Fault    any     `json:"fault"`
	Total    float64 `json:"total_ms"`
}

// account is what is known after the run.
type account struct {
	*run
	lines     map[int]*line // of the access log, by request
	nameless  int           // lines of requests whose head was forgotten or never came
	total     int           // lines
	failures  map[int][]string
	received  map[int][]receipt
	log       string
	scraped   string
	outcomes  map[string]int
	seen      map[string]int // what clients saw
	exact     int            // requests whose attempts are known one by one
	unreached int
	problems  int
}

// receipt is one time that an engine was sent a request.
type receipt struct {
	sim.Request
	engine int
	stale  bool // on a connection used before that the engine then closed: the request may have been sent once more
}

func (r *run) account() *account {
	a := &account{run: r, lines: map[int]*line{}, failures: map[int][]string{}, received: map[int][]receipt{}, outcomes: map[string]int{}, seen: map[string]int{}, log: r.gateway.Log()}
	w := httptest.NewRecorder()
	r.gateway.Metrics.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	a.scraped = w.Body.String()
	a.readLog()
	a.readEngines()
	for i := range r.results {
		a.request(i)
	}
	a.sums()
	for _, fault := range r.fleet.faults {
		a.wrong("%s", fault)
	}
	return a
}

// wrong reports what must not be; the first ones are enough to see what it is about.
func (a *account) wrong(format string, args ...any) {
	if a.problems++; a.problems <= 30 {
		a.t.Errorf(format, args...)
	}
}

func (a *account) readLog() {
	for text := range bytes.Lines([]byte(a.log)) {
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			a.wrong("a line of the log is no JSON: %s", text)
			continue
		}
		if l.Panic != nil || l.Fault != nil {
			a.wrong("a panic: %s", text)
		}
		number := numberOf(l.ID)
		switch l.Message {
		case "an attempt failed":
			a.failures[number] = append(a.failures[number], l.Error)
		case "request":
			a.total++
			a.outcomes[l.Outcome]++
			switch {
			case number < 0:
				a.nameless++
			case a.lines[number] != nil:
				a.wrong("request %d is accounted for twice: %s", number, text)
			default:
				a.lines[number] = &l
			}
		}
	}
}

func (a *account) readEngines() {
	for k, e := range a.fleet.engines {
		used := map[int]bool{} // connections
		for _, q := range e.Requests() {
			number := numberOf(q.Get("X-Request-Id"))
			got := receipt{Request: q, engine: k, stale: used[q.Conn] && !q.Answered && !q.ClientGone}
			got.Body = nil
			a.received[number] = append(a.received[number], got)
			used[q.Conn] = true
		}
	}
}

// request checks what became of one request.
func (a *account) request(i int) {
	q, res, l := &a.plan.requests[i], &a.results[i], a.lines[i]
	switch {
	case res.hung:
		a.wrong("request %d: its client has waited for %v: %+v, %+v, receipts %+v", i, patience, *q, l, a.received[i])
	case q.leaves == uploading:
		if l != nil {
			a.wrong("request %d was not sent to its end, but is in the log as if it were: %+v", i, *l)
		}
		if n := len(a.received[i]); n > 0 {
			a.wrong("request %d was not sent to its end, but engines were asked %d times", i, n)
		}
	case l == nil && (!res.reset || len(a.received[i]) > 0):
		a.wrong("request %d is not accounted for: %+v", i, *res)
	case l == nil:
		a.unreached++
	default:
		a.ending(q, res, l)
		a.attempts(i, l)
	}
	if res.reached {
		a.body(q, res, l)
	}
}

// ending compares what a client saw with what the log says.
func (a *account) ending(q *request, res *result, l *line) {
	if l.Outcome == "internal_error" {
		a.wrong("request %d met a fault of the gateway", q.number)
	}
	switch {
	case res.left:
		a.seen["left"]++
		if q.leaves == stalling {
			a.seen["left by stalling: "+l.Outcome]++
		}
		return // it can't know how it ended
	case res.err != nil && res.reached:
		a.seen["cut"]++
		if l.Outcome != "upstream_aborted" {
			a.wrong("request %d was cut (%v), but is in the log as %s", q.number, res.err, l.Outcome)
		}
	case res.err != nil:
		a.seen["no answer"]++
		a.wrong("request %d got no answer (%v), and is in the log as %+v; %+v %+v", q.number, res.err, *l, *q, *res)
	default:
		a.seen[strconv.Itoa(res.status/100)+"xx"]++
		if l.Outcome == "upstream_aborted" || l.Outcome == "client_closed" {
			a.wrong("request %d was answered to its end, but is in the log as %s", q.number, l.Outcome)
		}
		if int64(len(res.body)) != l.BytesOut {
			a.wrong("request %d got %d bytes, the log says %d", q.number, len(res.body), l.BytesOut)
		}
	}
	if res.reached && res.status != l.Status {
		a.wrong("request %d was answered %d, the log says %d", q.number, res.status, l.Status)
	}
	if res.reached && res.id != q.id() {
		a.wrong("request %d was answered with the id %q", q.number, res.id)
	}
}

// attempts compares how often the gateway says that it has asked with how often engines were asked.
func (a *account) attempts(i int, l *line) {
	stale, unconnected, broken := 0, 0, 0
	for _, r := range a.received[i] {
		if r.stale {
			stale++
		}
	}
	for _, cause := range a.failures[i] {
		if strings.HasPrefix(cause, "upstream: connect:") {
			unconnected++
		} else {
			broken++
		}
	}
	if l.Outcome == "client_closed" {
		broken++ // it may have left before anybody was reached
	}
	most, least := l.Attempts-unconnected+stale, l.Attempts-unconnected-broken
	if n := len(a.received[i]); n > most || n < least {
		a.wrong("request %d: engines were asked %d times, it should be %d to %d: %d attempts, failures %q, receipts %v",
			i, n, least, most, l.Attempts, a.failures[i], a.received[i])
	}
	if most == least {
		a.exact++
	}
}
