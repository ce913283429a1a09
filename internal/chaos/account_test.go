package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

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

var marked = regexp.MustCompile(`r(\d+)-(\d+)-(\d+)`)

// body checks that what a client read is one engine's answer to this very request, or the beginning of one if it was cut,
// or an error of the gateway.
func (a *account) body(q *request, res *result, l *line) {
	whole := res.err == nil && !res.left
	got := string(res.body)
	if l != nil && l.Route == "beats" && res.status == 200 {
		got = withoutBeats(got)
	}
	if res.status != 200 && a.refused(q, res, got, whole) {
		return
	}
	m := marked.FindStringSubmatch(got)
	if m == nil {
		if whole && (q.kind != models || res.status != 200) {
			a.wrong("request %d was answered %d by nobody: %.200q", q.number, res.status, got)
		}
		return
	}
	number, _ := strconv.Atoi(m[1])
	n, _ := strconv.Atoi(m[2])
	k, _ := strconv.Atoi(m[3])
	if number != q.number || n >= len(a.fleet.given[number]) || a.fleet.given[number][n] != k {
		a.wrong("request %d was given an answer that was not made for it: %s", q.number, m[0])
		return
	}
	t := a.plan.turn(q, n)
	want := t.body(q, m[0])
	if res.status != 200 {
		want = refusal(res.status, m[0])
	}
	switch {
	case whole && got != want:
		a.wrong("request %d: its answer (%d) differs at byte %d of %d", q.number, res.status, differ(got, want), len(want))
	case !strings.HasPrefix(want, got):
		a.wrong("request %d: its cut answer (%d) differs at byte %d of %d", q.number, res.status, differ(got, want), len(want))
	case whole:
		a.seen["answers that are right byte by byte"]++
	default:
		a.seen["beginnings that are right byte by byte"]++
	}
}

func differ(a, b string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

var beats = []string{": still running\n\n", "event: ping\ndata: {\"type\": \"ping\"}\n\n"}

// withoutBeats takes out what the gateway puts between two events of a silent stream.
func withoutBeats(got string) string {
	var b strings.Builder
	for rest := got; rest != ""; {
		event, more, found := strings.Cut(rest, "\n\n")
		if found {
			event += "\n\n"
		}
		if !slices.ContainsFunc(beats, func(beat string) bool { return event == beat || !found && strings.HasPrefix(beat, event) }) {
			b.WriteString(event)
		}
		rest = more
	}
	return b.String()
}

// refused checks an error that no engine made for this request, and reports whether it is one.
func (a *account) refused(q *request, res *result, got string, whole bool) bool {
	for k := range engines {
		if got == early(k) {
			return slices.ContainsFunc(a.received[q.number], func(r receipt) bool { return r.engine == k })
		}
	}
	var e struct {
		Error struct{ Type, Message string } `json:"error"`
	}
	if err := json.Unmarshal([]byte(got), &e); err != nil {
		if whole {
			a.wrong("request %d was refused (%d) with %.200q", q.number, res.status, got)
		}
		return !whole
	}
	if strings.HasPrefix(e.Error.Message, "an engine says") {
		return false
	}
	if e.Error.Type == "" || e.Error.Message == "" {
		a.wrong("request %d was refused (%d) with %.200q", q.number, res.status, got)
	}
	return true
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

// sums compares the metrics with the log.
func (a *account) sums() {
	if n := a.scrape("gpustack_gateway_requests_total"); n != a.total {
		a.wrong("the metrics count %d requests, the log has %d", n, a.total)
	}
	for outcome, n := range a.outcomes {
		if m := a.scrape("gpustack_gateway_requests_total", `outcome="`+outcome+`"`); m != n {
			a.wrong("the metrics count %d requests as %s, the log has %d", m, outcome, n)
		}
	}
	attempts, unconnected, broken := 0, 0, 0
	for i, l := range a.lines {
		attempts += l.Attempts
		for _, cause := range a.failures[i] {
			if strings.HasPrefix(cause, "upstream: connect:") {
				unconnected++
			} else {
				broken++
			}
		}
	}
	if n := a.scrape("gpustack_gateway_attempts_total"); n != attempts {
		a.wrong("the metrics count %d attempts, the log has %d", n, attempts)
	}
	if n := a.scrape("gpustack_gateway_attempts_total", `result="unreachable"`); n != unconnected {
		a.wrong("the metrics count %d attempts without a connection, the log has %d", n, unconnected)
	}
	if n := a.scrape("gpustack_gateway_attempts_total", `result="broken"`) + a.scrape("gpustack_gateway_attempts_total", `result="timeout"`); n != broken {
		a.wrong("the metrics count %d attempts that failed, the log has %d", n, broken)
	}
	a.nobodyElse()
}

// nobodyElse checks the requests that were cut before they were whole: they have a line each, without a name.
func (a *account) nobodyElse() {
	sure, perhaps := 0, 0
	for i := range a.results {
		if a.plan.requests[i].leaves == uploading {
			if perhaps++; !a.results[i].reset {
				sure++
			}
		}
	}
	if a.nameless < sure || a.nameless > perhaps+a.unreached { // a reset can overtake the end of what was sent
		a.wrong("%d requests were not sent to their end, of which %d were reset; the log has %d lines of such", perhaps, perhaps-sure, a.nameless)
	}
}

// scrape sums the series of a metric that have all of some labels.
func (a *account) scrape(name string, labels ...string) int {
	sum := 0.0
	for text := range strings.Lines(a.scraped) {
		rest, ok := strings.CutPrefix(text, name+"{")
		set, value, _ := strings.Cut(rest, "} ")
		if !ok || slices.ContainsFunc(labels, func(l string) bool { return !strings.Contains(set, l) }) {
			continue
		}
		n, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
		if err != nil {
			a.wrong("the metrics have a line %q", text)
		}
		sum += n
	}
	return int(sum)
}

// figures prints what there was.
func (a *account) figures(took time.Duration) {
	t := a.t
	received, stale, attempts := 0, 0, 0
	for _, rs := range a.received {
		received += len(rs)
		for _, r := range rs {
			if r.stale {
				stale++
			}
		}
	}
	for _, l := range a.lines {
		attempts += l.Attempts
	}
	t.Logf("%d requests in %v: %d lines in the log, %d without a name, %d never reached the gateway", len(a.results), took.Round(time.Millisecond), a.total, a.nameless, a.unreached)
	t.Logf("outcomes: %s", list(a.outcomes))
	t.Logf("clients saw: %s", list(a.seen))
	t.Logf("attempts: %d by the gateway's count (%s); received by engines: %d, of them %d on a connection that they then closed; exact for %d requests",
		attempts, list(a.results_()), received, stale, a.exact)
	t.Logf("engines: %s; most at once %v under caps of %v", list(a.fleet.events), a.fleet.most, caps())
	t.Logf("ejections: %d, fallbacks: %d, reloads: %s", a.scrape("gpustack_gateway_ejections_total"), a.scrape("gpustack_gateway_fallbacks_total"), list(a.reloads))
	if a.problems > 0 {
		t.Errorf("%d problems; the same plan: -args -seed %d -requests %d -clients %d", a.problems, a.plan.seed, len(a.results), *clients)
	}
}

func (a *account) results_() map[string]int {
	m := map[string]int{}
	for _, result := range []string{"answered", "put_aside", "unreachable", "broken", "timeout", "abandoned"} {
		m[result] = a.scrape("gpustack_gateway_attempts_total", `result="`+result+`"`)
	}
	return m
}

func list(m map[string]int) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return strings.Join(parts, ", ")
}
