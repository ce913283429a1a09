package main

import (
	"math"
	"testing"
	"time"
)

func made(of func(i int) float64) (samples []sample) {
	for i := range 60 {
		samples = append(samples, sample{at: time.Duration(i+1) * 10 * time.Second, rss: of(i), heap: 10 << 20, goroutines: 50, files: 70})
	}
	return samples
}

func TestFit(t *testing.T) {
	rss := func(s *sample) float64 { return s.rss }
	if l := fit(made(func(i int) float64 { return 100 + 2*float64(i) }), rss); math.Abs(l.mean-159) > 1e-9 || math.Abs(l.rise-118) > 1e-9 || l.err > 1e-6 {
		t.Errorf("a line: %+v", l)
	}
	// Worked by hand: through 0, 2, 1 goes a line of slope 1/2 a step, whose residuals are -1/2, 1, -1/2.
	if l := fit(made(func(i int) float64 { return []float64{0, 2, 1}[i%3] })[:3], rss); math.Abs(l.rise-1) > 1e-9 || math.Abs(l.err-math.Sqrt(1.5/2)*2) > 1e-9 {
		t.Errorf("three points: %+v", l)
	}
}

func TestJudge(t *testing.T) {
	const mib = 1 << 20
	for name, c := range map[string]struct {
		of   func(i int) float64
		flat bool
	}{
		"constant":               {func(int) float64 { return 80 * mib }, true},
		"a saw":                  {func(i int) float64 { return (80 + 10*float64(i%3)) * mib }, true},
		"rises at first only":    {func(i int) float64 { return (80 + 20*math.Min(float64(i), 20)/20) * mib }, true},
		"falls":                  {func(i int) float64 { return (200 - float64(i)) * mib }, true},
		"rises by 1 MiB in 10 s": {func(i int) float64 { return (80 + float64(i)) * mib }, false},
		"a saw that rises":       {func(i int) float64 { return (80 + 10*float64(i%3) + float64(i)/2) * mib }, false},
	} {
		if flat := judge(made(c.of)); flat != c.flat {
			t.Errorf("%s: flat is %v", name, flat)
		}
	}
	if judge(nil) {
		t.Error("nothing is flat")
	}
}
