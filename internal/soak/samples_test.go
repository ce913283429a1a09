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
	mean, rise := fit(made(func(i int) float64 { return 100 + 2*float64(i) }), func(s *sample) float64 { return s.rss })
	if math.Abs(mean-159) > 1e-9 || math.Abs(rise-118) > 1e-9 {
		t.Errorf("mean %v, rise %v", mean, rise)
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
