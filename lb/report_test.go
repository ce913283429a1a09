package lb

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"
)

// Explaining changes nothing: neither a count, nor a position, nor the request.
func TestExplain_ChangesNothing(t *testing.T) {
	for _, by := range []By{RoundRobin, TargetWeight, Policy} {
		p := layout{by: by, weights: []int64{2, 1}, instances: []int{3, 2}, votes: leastLoad}.pool()
		hold(p, 1, 2)
		fail(p, 0, start)
		r := &Request{}
		p.Read(r)
		r.Tried(4)
		first, _ := json.Marshal(p.Explain(r, start))
		for range 5 {
			if again, _ := json.Marshal(p.Explain(r, start)); string(again) != string(first) {
				t.Fatalf("%v: %s, then %s", by, first, again)
			}
		}
		if r.tries != 1 || !slices.Equal(r.tried, []bool{false, false, false, false, true}) || r.turned {
			t.Errorf("%v: the request changed", by)
		}
	}
}

// What is explained is what then happens.
func TestExplain_TellsThePick(t *testing.T) {
	votes := []Weighted{{"order", 1, byOrder{}}, {"least_inflight", 1.5, byLoad{}}}
	for _, by := range []By{RoundRobin, TargetWeight, Policy} {
		p := layout{by: by, weights: []int64{5, 3}, instances: []int{3, 2}, votes: votes, limit: 4}.pool()
		fail(p, 1, start)
		for n := range 20 {
			r, l := &Request{}, &Lease{}
			report := p.Explain(r, start)
			if report.RouteBy != by.String() {
				t.Fatal(report.RouteBy)
			}
			err := p.Pick(r, l, start)
			switch {
			case err != nil:
				if report.Pick != -1 || report.Error != err.Error() {
					t.Fatalf("%v %d: picked %v, explained %d %q", by, n, err, report.Pick, report.Error)
				}
			case report.Pick != l.Index() && !slices.Contains(report.Ties, l.Index()):
				t.Fatalf("%v %d: picked %d, explained %d %v", by, n, l.Index(), report.Pick, report.Ties)
			case report.Pick == l.Index() && report.DecidedBy != l.By():
				t.Fatalf("%v %d: by %q, explained %q", by, n, l.By(), report.DecidedBy)
			}
		}
	}
}

func TestExplain_Report(t *testing.T) {
	votes := []Weighted{{"order", 1, byOrder{}}, {"least_inflight", 1, byLoad{}}, {"none", 1, fixed{}}}
	p := layout{by: Policy, instances: []int{3}, votes: votes, limit: 9}.pool()
	hold(p, 0, 1)
	fail(p, 2, start)
	report := p.Explain(&Request{}, start.Add(time.Second))
	if !slices.Equal(report.Ties, []int{0, 1}) || report.Pick != 0 || !slices.Equal(report.Rest, []int{1}) ||
		report.DecidedBy != "" || report.Note != "" {
		t.Errorf("got %+v", report)
	}
	if v := report.Votes[2]; !v.Abstained || v.Strength != 0 {
		t.Errorf("a plugin without a say: %+v", v)
	}
	out := report.Candidates[2]
	if out.State != "ejected" || out.Live || out.Until == nil || !out.Until.Equal(start.Add(10*time.Second)) {
		t.Errorf("the ejected one: %+v", out)
	}
	text, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"route_by":"policy"`, `"in_flight":1`, `"limit":9`, `"normalised":0.6666`, `"pick":0`,
		`"plugin":"least_inflight"`, `"state":"up"`} {
		if !strings.Contains(string(text), want) {
			t.Errorf("no %s in %s", want, text)
		}
	}
}

func TestExplain_Notes(t *testing.T) {
	p := layout{by: Policy, instances: []int{2}, votes: []Weighted{{"none", 1, fixed{}}}}.pool()
	if n := p.Explain(&Request{}, start).Note; !strings.Contains(n, "abstained") {
		t.Errorf("all abstained: %q", n)
	}
	fail(p, 0, start)
	fail(p, 1, start)
	if n := p.Explain(&Request{}, start).Note; !strings.Contains(n, "fail_open") {
		t.Errorf("all out: %q", n)
	}
	p = layout{by: RoundRobin, instances: []int{2, 1}}.pool()
	report := p.Explain(&Request{}, start)
	if len(report.Rest) != 2 || report.Note != "next in the rotation" {
		t.Errorf("round robin: %+v", report)
	}
	for i := range 3 {
		p.candidates[i].Engine.SetDrained(true)
	}
	report = p.Explain(&Request{}, start)
	if report.Pick != -1 || report.Error != ErrDown.Error() || report.Candidates[0].State != "drained" {
		t.Errorf("all drained: %+v", report)
	}
}
