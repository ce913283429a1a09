package fleetsim

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
)

func TestScales(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []float64
	}{
		{0, 1, []float64{0, 0.2, 0.4, 0.6, 0.8, 1}},
		{0, 1.42, []float64{0, 0.5, 1, 1.5}},
		{0.83, 1, []float64{0.8, 0.85, 0.9, 0.95, 1}},
		{0, 7, []float64{0, 2, 4, 6, 8}},
		{3, 3, []float64{3, 3.2, 3.4, 3.6, 3.8, 4}},
	} {
		s := linear(c.low, c.high, short)
		if !slices.EqualFunc(s.ticks, c.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-9 }) {
			t.Errorf("from %v to %v: %v", c.low, c.high, s.ticks)
		}
		if s.low > c.low || s.high < c.high || s.at(s.low) != 0 || s.at(s.high) != 1 || s.at(s.low-1) != 0 {
			t.Errorf("from %v to %v: from %v to %v", c.low, c.high, s.low, s.high)
		}
	}
	for _, c := range []struct{ low, high float64 }{{0.1, 130}, {1e-3, 1e4}, {2, 2}, {0, 1}, {math.Inf(1), math.Inf(-1)}} {
		s := logarithmic(c.low, c.high, short)
		if len(s.ticks) == 0 || len(s.ticks) > 12 || s.at(s.high) != 1 || s.at(s.low) != 0 {
			t.Errorf("from %v to %v: %v", c.low, c.high, s.ticks)
		}
	}
}

// A plot is sound XML, and shows every series at every place.
func TestPlot(t *testing.T) {
	s := small()
	s.Title, s.Plot = "Sessions & <gateways>", AxisGateways
	s.Instances, s.Gateways, s.Share = []int{4}, []int{1, 2, 16}, []string{ShareNothing, ShareCounts}
	s.Strategies = []Strategy{{By: "round_robin"}, {Name: "<both>", Affinity: number(1), Load: number(1)}}
	var results []Result
	for i, p := range s.Points() {
		results = append(results, Result{Point: p, Median: 0.1 * float64(i+1), P99: 1 + float64(i), Hits: math.NaN(), Imbalance: 0.5})
	}
	var text strings.Builder
	if err := Plot(&text, s, results); err != nil {
		t.Fatal(err)
	}
	marks := 0
	var said strings.Builder
	for d := xml.NewDecoder(strings.NewReader(text.String())); ; {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, &text)
		}
		switch token := token.(type) {
		case xml.StartElement:
			if token.Name.Local == "path" && slices.ContainsFunc(token.Attr, func(a xml.Attr) bool { return a.Name.Local == "fill" }) {
				marks++
			}
		case xml.CharData:
			said.Write(token)
			said.WriteString("\n")
		}
	}
	// Four series: in the legend, and at three places of all panels but that of hits, which nothing is known of.
	if marks != 4+3*4*3 {
		t.Errorf("%d marks", marks)
	}
	for _, want := range []string{"Sessions & <gateways>", "nothing shared, round robin", "counts shared, <both>", "16", "gateways",
		"Prompt cache hits", "Time to first token, median"} {
		if !strings.Contains(said.String(), "\n"+want+"\n") {
			t.Errorf("%q is not said in\n%s", want, &said)
		}
	}

	s.Plot = AxisStrategies
	if err := Plot(io.Discard, s, results); err != nil {
		t.Error(err)
	}
}

func TestTable(t *testing.T) {
	s := small()
	s.Gateways, s.Load = []int{1, 2}, []float64{0.5, 1}
	p := Point{Instances: 5, Load: 0.5, Gateways: 2, Share: ShareNothing, Strategy: Strategy{By: "round_robin"}}
	var text strings.Builder
	if err := Table(&text, s, []Result{{Point: p, Median: 0.1234, P99: 2.34, Hits: 0.5, Moved: math.NaN(), Inflight: 1.25,
		Imbalance: 0.5, Busiest: 10, Rate: 3.14}}); err != nil {
		t.Fatal(err)
	}
	const want = `A fleet by its size
12 agents and 0.2 chats/s per instance, at load 1; 1 run of 3m0s after 3m0s each, from seed 1

INSTANCES  LOAD  GATEWAYS  STRATEGY     TTFT P50  TTFT P99  CACHE HITS  MOVED  IN FLIGHT  IMBALANCE  BUSIEST  REQUESTS/S
5          0.5   2         round robin  123 ms    2.3 s     50.0%       -      1.2        0.50       10.00    3.1
`
	if text.String() != want {
		t.Errorf("%s", &text)
	}
}
