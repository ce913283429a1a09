package chaos

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

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
