package fleetsim

import (
	"io"
	"math"
	"slices"
	"strings"
)

// Plot writes the results of a scenario as one SVG drawing: times to first token, cache hits and imbalance along the axis
// that the scenario names, a line for every combination of the others.
func Plot(w io.Writer, s *Scenario, results []Result) error {
	c := chart{title: s.Title, xTitle: s.Plot}
	var along axis
	var others []axis
	for _, a := range s.axes() {
		switch {
		case a.name == s.Plot:
			along = a
		case a.count > 1:
			others = append(others, a)
		}
	}
	x := func(r *Result) string { return along.value(&r.Point) }
	series := func(r *Result) string {
		var parts []string
		for _, a := range others {
			parts = append(parts, a.label(a.value(&r.Point)))
		}
		return strings.Join(parts, ", ")
	}
	results = s.everyShare(results)
	for i := range results {
		if name := x(&results[i]); !slices.Contains(c.x, name) {
			c.x = append(c.x, name)
		}
		if name := series(&results[i]); !slices.Contains(c.series, name) {
			c.series = append(c.series, name)
		}
	}
	for _, m := range metrics {
		p := panel{title: m.title, values: make([][]float64, len(c.series))}
		for i := range p.values {
			p.values[i] = slices.Repeat([]float64{math.NaN()}, len(c.x))
		}
		low, high := math.Inf(1), math.Inf(-1)
		for i := range results {
			r := &results[i]
			v := m.value(r)
			p.values[slices.Index(c.series, series(r))][slices.Index(c.x, x(r))] = v
			if !math.IsNaN(v) {
				low, high = min(low, v), max(high, v)
			}
		}
		p.scale = m.scale(low, high)
		c.panels = append(c.panels, p)
	}
	return c.draw(w)
}

// metric is what one panel shows.
type metric struct {
	title string
	value func(r *Result) float64
	scale func(low, high float64) scale
}

var metrics = []metric{
	{"Time to first token, median", func(r *Result) float64 { return r.Median },
		func(low, high float64) scale { return logarithmic(low, high, seconds) }},
	{"Time to first token, 99th percentile", func(r *Result) float64 { return r.P99 },
		func(low, high float64) scale { return logarithmic(low, high, seconds) }},
	{"Prompt cache hits", func(r *Result) float64 { return r.Hits },
		func(low, _ float64) scale {
			return linear(min(low, 0.9), 1, func(v float64) string { return short(100*v) + "%" })
		}},
	{"Imbalance: standard deviation / mean of requests per instance", func(r *Result) float64 { return r.Imbalance },
		func(_, high float64) scale { return linear(0, high, short) }},
}

// everyShare returns the results with those of a single gateway repeated for everything that could be shared, so that
// each line has its start.
func (s *Scenario) everyShare(results []Result) []Result {
	var all []Result
	for i := range results {
		all = append(all, results[i])
		for k := 1; k < len(s.Share) && results[i].Gateways == 1; k++ {
			again := results[i]
			again.Share = s.Share[k]
			all = append(all, again)
		}
	}
	return all
}
