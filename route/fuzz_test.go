package route

import (
	"os"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/lb"
)

// FuzzLoad holds loading to what it promises whatever an operator writes: it does not panic, a file that is refused says
// why, one that is not can be asked everything, and every problem has a place in the text.
func FuzzLoad(f *testing.F) {
	for _, file := range files(f, "good", "bad") {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	o := testOptions()
	f.Fuzz(func(t *testing.T, data []byte) {
		o.Fleet = lb.NewFleet(o.Rand)
		s, problems := Load("f", data, o)
		if (s == nil) != refused(problems) {
			t.Fatalf("snapshot %v with %v", s, problems)
		}
		text := newSource("f", data)
		for _, p := range problems {
			if p.Line < 1 || p.Line > len(text.lines) || p.Column < 1 || text.lines[p.Line-1]+p.Column-1 > len(data) || p.Message == "" {
				t.Errorf("no place of the file: %+v", p)
			}
		}
		if s == nil {
			return
		}
		for _, r := range s.Routes() {
			if s.Route([]byte(r.Name)) != r || (r.Pool == nil) != (r.Reason != "") {
				t.Errorf("bad route %+v", r)
			}
			_ = s.May(Caller{}, r)
			if r.Pool == nil {
				continue
			}
			use(t, r.Pool, r.Upstreams)
			for i := range r.Fallbacks {
				use(t, r.Fallbacks[i].Pool, r.Fallbacks[i].Upstreams)
			}
		}
	})
}

// use picks from a pool until nobody is left.
func use(t *testing.T, p *lb.Pool, ups []Upstream) {
	t.Helper()
	if len(p.Candidates()) != len(ups) {
		t.Fatalf("%d candidates, %d upstreams", len(p.Candidates()), len(ups))
	}
	var request lb.Request
	for range ups {
		var l lb.Lease
		if err := p.Pick(&request, &l, time.Time{}); err != nil {
			return
		}
		u := &ups[l.Index()]
		if u.Address.Host == "" || u.Address.BasePath == "" || u.Model == "" || u.Instance == "" || u.Target == "" {
			t.Errorf("nobody can be reached by %+v", *u)
		}
		request.Tried(l.Index())
		l.Done(lb.Neutral, time.Time{})
	}
}
