package admin

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpustack/gpustack-gateway/gateway"
	"github.com/gpustack/gpustack-gateway/internal/metrics"
	"github.com/gpustack/gpustack-gateway/internal/race"
	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/route"
)

var start = time.Date(2026, 11, 30, 0, 0, 0, 0, time.UTC)

// passed is a request of a route that a candidate served at a moment.
func passed(routeName string, key uint64, at time.Time) gateway.Ended {
	return gateway.Ended{Time: at, ID: []byte("id"), Endpoint: "chat", Outcome: "ok", Status: 200, Attempts: 1, Total: time.Second,
		Route: &route.Route{Name: routeName, By: lb.Policy}, To: &route.Upstream{Target: "t", Instance: "i", Model: "m", Key: key},
		Tokens: metrics.Tokens{Input: 3, Output: 4}}
}

func TestRecentSince(t *testing.T) {
	r := NewRecent()
	if got, last := r.since(0, 10); len(got) != 0 || last != 0 {
		t.Errorf("%d requests, the last one %d", len(got), last)
	}
	for i := range remembered + 7 {
		r.Observe(gateway.Ended{Time: start, ID: fmt.Append(nil, i+1)})
	}
	const all = remembered + 7
	for _, test := range []struct {
		after            uint64
		most, n          int
		first, firstText string
	}{
		{0, remembered, remembered, "8", "8"}, {0, 10 * remembered, remembered, "8", "8"}, {0, 0, 0, "", ""}, {0, 3, 3, fmt.Sprint(all - 2), fmt.Sprint(all - 2)},
		{all - 1, remembered, 1, fmt.Sprint(all), fmt.Sprint(all)}, {all, remembered, 0, "", ""}, {5, remembered, remembered, "8", "8"},
		{all + 1000, remembered, remembered, "8", "8"}, // of a process before this one
	} {
		got, last := r.since(test.after, test.most)
		if len(got) != test.n || last != all {
			t.Errorf("after %d: %d requests, the last one %d", test.after, len(got), last)
			continue
		}
		if test.n > 0 && (fmt.Sprint(got[0].number) != test.first || string(got[0].id[:got[0].idLength]) != test.firstText) {
			t.Errorf("after %d: begins with %d", test.after, got[0].number)
		}
		for i := 1; i < len(got); i++ {
			if got[i].number != got[i-1].number+1 {
				t.Errorf("after %d: %d follows %d", test.after, got[i].number, got[i-1].number)
			}
		}
	}
}

// Counts are of the last minutes, and what is over is forgotten.
func TestRecentServed(t *testing.T) {
	r := NewRecent()
	a, b := place{"r", 1}, place{"r", 2}
	for i := range 10 {
		r.Observe(passed("r", 1, start.Add(time.Duration(i)*time.Minute)))
	}
	r.Observe(passed("r", 2, start.Add(9*time.Minute)))
	r.Observe(passed("r", 2, start.Add(8*time.Minute))) // told late
	for _, test := range []struct {
		after time.Duration
		a, b  int64
	}{{9 * time.Minute, 5, 1}, {9*time.Minute + 55*time.Second, 5, 1}, {10 * time.Minute, 4, 1}, {13*time.Minute + 50*time.Second, 1, 1}, {14*time.Minute + 10*time.Second, 0, 0}} {
		served := r.served(start.Add(test.after))
		if served[a] != test.a || (served[b] != test.b && served[b] != test.b+1) {
			t.Errorf("after %v: %d and %d", test.after, served[a], served[b])
		}
	}
	if len(r.counts) != 0 {
		t.Errorf("%d counts are kept", len(r.counts))
	}
}

// Whatever clients and configurations do, the memory is bounded by what served in the last minutes.
func TestRecentForgets(t *testing.T) {
	r := NewRecent()
	for i := range 20_000 {
		r.Observe(passed(fmt.Sprintf("route-%d", i), uint64(i), start.Add(time.Duration(i)*time.Second)))
		r.Observe(gateway.Ended{Time: start, ID: []byte(strings.Repeat("x", 1000))})
	}
	if n := len(r.counts); n > int(window/time.Second)+20 {
		t.Errorf("%d counts are kept", n)
	}
	if got, _ := r.since(0, 1); got[0].idLength != longestID {
		t.Errorf("an id of %d bytes", got[0].idLength)
	}
}

func TestRecentAtOnce(t *testing.T) {
	r := NewRecent()
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 1000 {
				r.Observe(passed("r", uint64(w), start.Add(time.Duration(i)*time.Millisecond)))
				if i%100 == 0 {
					r.since(0, remembered)
					r.served(start)
				}
			}
		})
	}
	all.Wait()
	var sum int64
	for _, n := range r.served(start) {
		sum += n
	}
	if _, last := r.since(0, 1); sum != 4000 || last != 4000 {
		t.Errorf("%d served, the last one %d", sum, last)
	}
}

// Taking in a request costs the data path no memory.
func TestRecentAlloc(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	r := NewRecent()
	e := passed("r", 1, start)
	if n := testing.AllocsPerRun(1000, func() { r.Observe(e) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkObserve(b *testing.B) {
	r := NewRecent()
	e := passed("r", 1, start)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			r.Observe(e)
		}
	})
}
