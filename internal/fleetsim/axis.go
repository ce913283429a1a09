package fleetsim

import (
	"strconv"
)

// axis is one thing that a scenario varies.
type axis struct {
	name  string
	count int                       // of its values
	value func(p *Point) string     // of a point, for tables and along the x axis
	label func(value string) string // of a value, where it stands alone
}

// axes returns what a scenario can vary, in the order of Points.
func (s *Scenario) axes() []axis {
	return []axis{
		{AxisInstances, len(s.Instances), func(p *Point) string { return strconv.Itoa(p.Instances) },
			func(v string) string { return plural(v, "instance") }},
		{AxisLoad, len(s.Load), func(p *Point) string { return short(p.Load) }, func(v string) string { return "load " + v }},
		{AxisGateways, len(s.Gateways), func(p *Point) string { return strconv.Itoa(p.Gateways) },
			func(v string) string { return plural(v, "gateway") }},
		{AxisShare, len(s.Share), func(p *Point) string { return p.Share }, func(v string) string { return v + " shared" }},
		{AxisStrategies, len(s.Strategies), func(p *Point) string { return p.Strategy.title() },
			func(v string) string { return v }},
	}
}

func plural(number, noun string) string {
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}
