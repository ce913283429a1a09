package fleetsim

import (
	"context"
	"math"
	"runtime"
	"slices"
	"sync"
)

// Point is one combination of what a scenario varies.
type Point struct {
	Instances int
	Load      float64
	Gateways  int
	Share     string
	Strategy  Strategy
}

// Result is what came out of the runs of one point. Shares are 0 to 1; what nothing was measured of is NaN.
type Result struct {
	Point
	Requests  int     // measured
	Rate      float64 // of them, a second and run
	Median    float64 // time to first token, in seconds
	P99       float64 // the same, 99th percentile
	Hits      float64 // share of the prompt tokens that some engine had seen before which the chosen one still had
	Moved     float64 // share of the turns that went to another instance than the turn before
	Inflight  float64 // requests at an instance, in the mean
	Imbalance float64 // of the requests at each instance: standard deviation / mean, averaged over time
	Busiest   float64 // the same: highest / mean
	Events    uint64  // that were simulated
}

// Points returns the combinations of a scenario in the order in which Sweep returns their results: strategies vary
// fastest, instances slowest. A single gateway has nobody to share with, so it is there once.
func (s *Scenario) Points() []Point {
	var points []Point
	for _, instances := range s.Instances {
		for _, load := range s.Load {
			for _, gateways := range s.Gateways {
				for i, share := range s.Share {
					if gateways == 1 && i > 0 {
						continue
					}
					for _, strategy := range s.Strategies {
						points = append(points, Point{Instances: instances, Load: load, Gateways: gateways, Share: share,
							Strategy: strategy})
					}
				}
			}
		}
	}
	return points
}

// Sweep simulates all points of a scenario, as many at a time as there are cores, and calls ended after each, one at a
// time. It fails only if ctx ends.
func Sweep(ctx context.Context, s *Scenario, ended func(done, of int)) ([]Result, error) {
	points := s.Points()
	results := make([]Result, len(points))
	// The largest take longest, so they go first.
	order := make([]int, len(points))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return points[b].Instances - points[a].Instances })

	var (
		mu     sync.Mutex
		next   int
		done   int
		failed error
		wait   sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), len(points)) {
		wait.Go(func() {
			for {
				mu.Lock()
				if next == len(order) || failed != nil {
					mu.Unlock()
					return
				}
				i := order[next]
				next++
				mu.Unlock()

				result, err := s.simulate(ctx, &points[i])

				mu.Lock()
				if err != nil {
					failed = err
				} else {
					results[i] = result
					done++
					ended(done, len(points))
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return results, failed
}

// simulate makes the runs of one point.
func (s *Scenario) simulate(ctx context.Context, p *Point) (Result, error) {
	var all measure
	var events uint64
	for i := range s.Repeat {
		r := newRun(s, p, s.Seed+uint64(i))
		if err := r.goOn(ctx); err != nil {
			return Result{}, err
		}
		all.add(&r.measure)
		events += r.events
	}
	slices.Sort(all.waits)
	requests, samples := len(all.waits), float64(all.samples)
	return Result{Point: *p, Requests: requests, Rate: float64(requests) / s.Measure.Seconds() / float64(s.Repeat),
		Median: quantile(all.waits, 0.5), P99: quantile(all.waits, 0.99), Hits: float64(all.cached) / float64(all.known),
		Moved: float64(all.moved) / float64(all.turns), Inflight: all.inflight / float64(all.looks), Imbalance: all.uneven / samples,
		Busiest: all.busiest / samples, Events: events}, nil
}

// quantile returns the value that a part q of the sorted ones does not exceed, NaN of none.
func quantile(sorted []float32, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	return float64(sorted[max(0, int(math.Ceil(q*float64(len(sorted))))-1)])
}
