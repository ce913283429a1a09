package fleetsim

import (
	"fmt"
	"testing"
	"time"
)

// BenchmarkRun simulates the default load with both policies. It reports events and requests a second of computing.
func BenchmarkRun(b *testing.B) {
	for _, n := range []int{8, 64, 1024} {
		b.Run(fmt.Sprintf("instances=%d", n), func(b *testing.B) {
			s := Default()
			s.WarmUp, s.Measure = 0, time.Duration(64_000/n)*time.Second
			weight := 1.0
			p := Point{Instances: n, Load: 1, Gateways: 1, Share: ShareNothing, Strategy: Strategy{Affinity: &weight, Load: &weight}}
			b.ReportAllocs()
			var events, requests uint64
			for i := range b.N {
				r := newRun(&s, &p, uint64(i))
				if err := r.goOn(b.Context()); err != nil {
					b.Fatal(err)
				}
				events += r.events
				requests += r.ended
			}
			b.ReportMetric(float64(events)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
		})
	}
}
