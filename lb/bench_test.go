package lb

import (
	"fmt"
	"testing"

	"github.com/gpustack/gpustack-gateway/internal/race"
)

func spread(n int) []int {
	instances := make([]int, n)
	for i := range instances {
		instances[i] = 1
	}
	return instances
}

func benchPools() map[string]*Pool {
	return map[string]*Pool{
		"round_robin/8":       layout{by: RoundRobin, instances: []int{4, 4}}.pool(),
		"round_robin/1000":    layout{by: RoundRobin, instances: []int{1000}}.pool(),
		"target_weight/8":     layout{by: TargetWeight, weights: []int64{7, 3}, instances: []int{4, 4}}.pool(),
		"target_weight/1000":  layout{by: TargetWeight, weights: []int64{7, 3}, instances: []int{500, 500}}.pool(),
		"round_robin/1000x1":  layout{by: RoundRobin, instances: spread(1000)}.pool(),
		"least_inflight/8":    layout{by: Policy, instances: []int{8}, votes: leastLoad}.pool(),
		"least_inflight/256":  layout{by: Policy, instances: []int{256}, votes: leastLoad}.pool(),
		"least_inflight/1000": layout{by: Policy, instances: []int{1000}, votes: leastLoad}.pool(),
	}
}

func pickAndRelease(tb testing.TB, p *Pool, r *Request, l *Lease) {
	r.Reset()
	if err := p.Pick(r, l, start); err != nil {
		tb.Fatal(err)
	}
	l.Done(Served, start)
}

func BenchmarkPick(b *testing.B) {
	for name, p := range benchPools() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			r, l := &Request{}, &Lease{}
			for b.Loop() {
				pickAndRelease(b, p, r, l)
			}
		})
	}
}

func BenchmarkPickParallel(b *testing.B) {
	for name, p := range benchPools() {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetParallelism(8) // 16 goroutines on two processors
			b.RunParallel(func(pb *testing.PB) {
				r, l := &Request{}, &Lease{}
				for pb.Next() {
					pickAndRelease(b, p, r, l)
				}
			})
		})
	}
}

// With an instance out, its turns take the longer way.
func BenchmarkPickEjected(b *testing.B) {
	for _, n := range []int{8, 1000} {
		p := layout{by: RoundRobin, instances: []int{n}}.pool()
		fail(p, 0, start)
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			r, l := &Request{}, &Lease{}
			for b.Loop() {
				pickAndRelease(b, p, r, l)
			}
		})
	}
}

func TestPick_DoesNotAllocate(t *testing.T) {
	if race.Enabled {
		t.Skip("the race detector allocates")
	}
	for name, p := range benchPools() {
		r, l := &Request{}, &Lease{}
		if n := testing.AllocsPerRun(100, func() { pickAndRelease(t, p, r, l) }); n != 0 {
			t.Errorf("%s: %v allocations a pick", name, n)
		}
	}
}
