package fleetsim

import "strconv"

// axis is one thing that a scenario varies.
type axis struct {
	name, head string                    // in a scenario, and above a table's column
	count      int                       // of its values
	value      func(p *Point) string     // of a point, for tables and along the x axis
	label      func(value string) string // of a value, where it stands alone
}

// axes returns what a scenario can vary, in the order of Points.
func (s *Scenario) axes() []axis {
	itself := func(v string) string { return v }
	return []axis{
		{AxisInstances, "INSTANCES", len(s.Instances), func(p *Point) string { return strconv.Itoa(p.Instances) },
			func(v string) string { return plural(v, "instance") }},
		{AxisLoad, "LOAD", len(s.Load), func(p *Point) string { return short(p.Load) },
			func(v string) string { return "load " + v }},
		{AxisGateways, "GATEWAYS", len(s.Gateways), func(p *Point) string { return strconv.Itoa(p.Gateways) },
			func(v string) string { return plural(v, "gateway") }},
		{AxisShare, "SHARED", len(s.Share), func(p *Point) string { return p.Share },
			func(v string) string { return v + " shared" }},
		{AxisStrategies, "STRATEGY", len(s.Strategies), func(p *Point) string { return p.Strategy.title() }, itself},
	}
}

func plural(number, noun string) string {
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}

// short writes a number with three significant digits.
func short(f float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(f, 'g', 3, 64), 64) // which is its own text
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}
