package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

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
	a.busyEnough()
	t.Logf("%d requests in %v: %d lines in the log, %d without a name, %d never reached the gateway", len(a.results), took.Round(time.Millisecond), a.total, a.nameless, a.unreached)
	t.Logf("outcomes: %s", list(a.outcomes))
	t.Logf("clients saw: %s", list(a.seen))
	t.Logf("attempts: %d by the gateway's count (%s); received by engines: %d, of them %d on a connection that they then closed; exact for %d requests",
		attempts, list(a.attemptsByResult()), received, stale, a.exact)
	waits := map[string]int{}
	for _, result := range []string{"served", "timeout", "full", "left"} {
		waits[result] = a.scrape("gpustack_gateway_queue_wait_seconds_count", `result="`+result+`"`)
	}
	t.Logf("in the queue: %s", list(waits))
	t.Logf("engines: %s; most at once %v under caps of %v", list(a.fleet.events), a.fleet.most, caps())
	t.Logf("ejections: %d, fallbacks: %d, reloads: %s", a.scrape("gpustack_gateway_ejections_total"), a.scrape("gpustack_gateway_fallbacks_total"), list(a.reloads))
	if a.problems > 0 {
		t.Errorf("%d problems; the same plan: -args -seed %d -requests %d -clients %d", a.problems, a.plan.seed, len(a.results), *clients)
	}
}

// busyEnough sees to it that there was something to count.
func (a *account) busyEnough() {
	few, full := len(a.results)/10, 0
	for k, limit := range caps() {
		if limit > 0 && a.fleet.most[k] >= limit {
			full++
		}
	}
	for what, n := range map[string]int{
		"right answers": a.seen["answers that are right byte by byte"], "outcomes ok": a.outcomes["ok"],
		"ejections": few * a.scrape("gpustack_gateway_ejections_total"), "fallbacks": few * a.scrape("gpustack_gateway_fallbacks_total"),
		"clients that left": 10 * a.outcomes["client_closed"], "cut streams": 10 * a.outcomes["upstream_aborted"],
		"reloads": few * a.reloads["served"], "refused reloads": few * a.reloads["refused"], "full engines": few * full,
	} {
		if n < few {
			a.wrong("there were not enough %s for this to prove much", what)
		}
	}
}

func (a *account) attemptsByResult() map[string]int {
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
