package fleetsim

import (
	"fmt"
	"io"
	"math"
	"strconv"
	"text/tabwriter"
)

// Table writes the results of a scenario for people to read.
func Table(w io.Writer, s *Scenario, results []Result) error {
	fmt.Fprintf(w, "%s\n%s agents and %s chats/s per instance, at load 1; %s\n\n", s.Title, short(s.Agents.PerInstance),
		short(s.Chat.PerInstance), s.effort())
	var shown []axis
	for _, a := range s.axes() {
		if a.count > 1 || a.name == AxisInstances || a.name == AxisStrategies {
			shown = append(shown, a)
		}
	}
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, a := range shown {
		fmt.Fprint(table, a.head, "\t")
	}
	fmt.Fprintln(table, "TTFT P50\tTTFT P99\tCACHE HITS\tMOVED\tIN FLIGHT\tIMBALANCE\tBUSIEST\tREQUESTS/S")
	for i := range results {
		r := &results[i]
		for _, a := range shown {
			fmt.Fprint(table, a.value(&r.Point), "\t")
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", seconds(r.Median), seconds(r.P99), percent(r.Hits), percent(r.Moved),
			decimal(r.Inflight, 1), decimal(r.Imbalance, 2), decimal(r.Busiest, 2), decimal(r.Rate, 1))
	}
	return table.Flush()
}

// effort says what was simulated of each point.
func (s *Scenario) effort() string {
	runs := "1 run"
	if s.Repeat > 1 {
		runs = strconv.Itoa(s.Repeat) + " runs"
	}
	return fmt.Sprintf("%s of %v after %v each, from seed %d", runs, s.Measure, s.WarmUp, s.Seed)
}

// seconds writes a time as people read it: two significant digits, or whole milliseconds.
func seconds(t float64) string {
	switch {
	case math.IsNaN(t):
		return "-"
	case t < 1:
		return strconv.FormatFloat(1000*t, 'f', 0, 64) + " ms"
	case t < 10:
		return strconv.FormatFloat(t, 'f', 1, 64) + " s"
	}
	return strconv.FormatFloat(t, 'f', 0, 64) + " s"
}

func percent(part float64) string {
	if math.IsNaN(part) {
		return "-"
	}
	return strconv.FormatFloat(100*part, 'f', 1, 64) + "%"
}

func decimal(f float64, digits int) string {
	if math.IsNaN(f) {
		return "-"
	}
	return strconv.FormatFloat(f, 'f', digits, 64)
}
