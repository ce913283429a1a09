package sessionaffinity

import (
	"fmt"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
	"github.com/gpustack/gpustack-gateway/lb"
)

// fixedHeader answers without allocating.
type fixedHeader []byte

func (h fixedHeader) Peek(name string) []byte {
	if name == "session-id" {
		return h
	}
	return nil
}

// A pick with all plugins that don't have to ask anybody, from a fresh request to the place given back.
func pickAndRelease(tb testing.TB, p *lb.Pool, h lb.Header, r *lb.Request, l *lb.Lease) {
	r.Reset()
	r.Header = h
	if err := p.Pick(r, l, start); err != nil {
		tb.Fatal(err)
	}
	l.Done(lb.Served, start)
}

func BenchmarkPolicyPick(b *testing.B) {
	for _, n := range []int{8, 256} {
		w := newWorld(b)
		p := w.load([]lb.Weighted{w.affinity(1), leastInflight(1)}, numbered(n)...)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			var h lb.Header = fixedHeader("0198c1f2-7a8e-7c5b-9d1c-3a2b4c5d6e7f")
			r, l := &lb.Request{}, &lb.Lease{}
			for b.Loop() {
				pickAndRelease(b, p, h, r, l)
			}
		})
		b.Run(fmt.Sprint(n)+"/parallel", func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				var h lb.Header = fixedHeader("0198c1f2-7a8e-7c5b-9d1c-3a2b4c5d6e7f")
				r, l := &lb.Request{}, &lb.Lease{}
				for pb.Next() {
					pickAndRelease(b, p, h, r, l)
				}
			})
		})
	}
}

func TestPolicyPick_DoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	w := newWorld(t)
	p := w.load([]lb.Weighted{w.affinity(1), leastInflight(3)}, numbered(8)...)
	var h lb.Header = fixedHeader("s")
	r, l := &lb.Request{}, &lb.Lease{}
	pick := func() { pickAndRelease(t, p, h, r, l) }
	if n := testing.AllocsPerRun(100, pick); n != 0 {
		t.Errorf("%v allocations a pick", n)
	}
	idle := w.busy(p, w.would(p, "s"), 9)
	defer idle()
	pick() // moves the session
	if w.memory.len() != 1 {
		t.Fatal("the session didn't move")
	}
	if n := testing.AllocsPerRun(100, pick); n != 0 {
		t.Errorf("%v allocations a pick of a session that has moved", n)
	}
}
