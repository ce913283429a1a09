package fleetsim

import (
	"fmt"
	"html"
	"io"
	"math"
	"strings"
)

// chart is a drawing of several panels with one legend: every panel shows the same series along the same x axis.
type chart struct {
	title  string
	xTitle string
	x      []string // places along the x axis, evenly apart
	series []string
	panels []panel
}

// panel is one diagram of a chart.
type panel struct {
	title  string
	values [][]float64 // by series and place; NaN is a gap
	scale  scale
}

// scale is a y axis.
type scale struct {
	low, high float64
	log       bool
	ticks     []float64
	text      func(float64) string
}

// The drawing's measures, in pixels.
const (
	panelWidth, panelHeight = 440, 250
	marginLeft, marginTop   = 64, 34
	gapX, gapY              = 70, 78
	legendColumn            = 236
	legendLine              = 20
)

// Colours of middle lightness, which stand out from white and from black (after the palette of M. Okabe and K. Ito, which
// people with colour blindness can tell apart), and a different mark for each series beside them.
var colours = []string{"#e07b00", "#3d9be0", "#00a070", "#c9a800", "#2f6fd0", "#d9534f", "#b765b5", "#7a8a99", "#7c9a20", "#a0623a"}

// draw writes the chart as SVG.
func (c *chart) draw(w io.Writer) error {
	rows := (len(c.panels) + 1) / 2
	slant := c.slanted()
	rowGap := gapY
	if slant {
		rowGap += 44
	}
	width := 2*marginLeft + 2*panelWidth + gapX - 30
	perRow := max(1, (width-marginLeft)/legendColumn)
	legendTop := marginTop + 30 + rows*(panelHeight+rowGap)
	height := legendTop + (len(c.series)+perRow-1)/perRow*legendLine + 12

	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="12">`+"\n",
		width, height, width, height)
	fmt.Fprintf(&b, "<title>%s</title>\n", html.EscapeString(c.title))
	b.WriteString("<style>text{fill:#57606a}.t{fill:#24292f;font-weight:600}.g{stroke:#8b949e;stroke-opacity:.3}.l{fill:none;stroke-width:2}" +
		"@media(prefers-color-scheme:dark){text{fill:#9aa4af}.t{fill:#e6edf3}}</style>\n")
	fmt.Fprintf(&b, `<text class="t" x="%d" y="20" font-size="15">%s</text>`+"\n", marginLeft, html.EscapeString(c.title))
	for i := range c.panels {
		left := marginLeft + i%2*(panelWidth+gapX)
		top := marginTop + 30 + i/2*(panelHeight+rowGap)
		c.panel(&b, &c.panels[i], float64(left), float64(top), slant)
	}
	for s, name := range c.series {
		x := float64(marginLeft + s%perRow*legendColumn)
		y := float64(legendTop + s/perRow*legendLine)
		fmt.Fprintf(&b, `<path class="l" %s d="M%.0f %.0fh24"/>`, stroke(s), x, y-4)
		mark(&b, s, x+12, y-4)
		fmt.Fprintf(&b, `<text x="%.0f" y="%.0f">%s</text>`+"\n", x+31, y, html.EscapeString(name))
	}
	b.WriteString("</svg>\n")
	_, err := io.WriteString(w, b.String())
	return err
}

// slanted reports whether the x axis has to be written aslant to have room.
func (c *chart) slanted() bool {
	letters := 0
	for _, x := range c.x {
		letters = max(letters, len(x))
	}
	return letters*len(c.x)*8 > panelWidth
}

// panel draws one diagram with its upper left corner at a place.
func (c *chart) panel(b *strings.Builder, p *panel, left, top float64, slant bool) {
	bottom := top + panelHeight
	fmt.Fprintf(b, `<text class="t" x="%.0f" y="%.0f">%s</text>`+"\n", left, top-10, html.EscapeString(p.title))
	for _, tick := range p.scale.ticks {
		y := bottom - p.scale.at(tick)*panelHeight
		fmt.Fprintf(b, `<path class="g" d="M%.0f %.1fh%d"/><text x="%.0f" y="%.1f" text-anchor="end">%s</text>`+"\n",
			left, y, panelWidth, left-7, y+4, html.EscapeString(p.scale.text(tick)))
	}
	for i, text := range c.x {
		x := c.place(i, left)
		if slant {
			fmt.Fprintf(b, `<text transform="translate(%.1f %.0f)rotate(-35)" text-anchor="end">%s</text>`+"\n", x+4, bottom+16, html.EscapeString(text))
			continue
		}
		fmt.Fprintf(b, `<text x="%.1f" y="%.0f" text-anchor="middle">%s</text>`+"\n", x, bottom+18, html.EscapeString(text))
	}
	if !slant {
		fmt.Fprintf(b, `<text x="%.0f" y="%.0f" text-anchor="middle">%s</text>`+"\n", left+panelWidth/2, bottom+36, html.EscapeString(c.xTitle))
	}
	for s := range c.series {
		c.line(b, p, s, left, bottom)
	}
}

// place returns the x coordinate of place i.
func (c *chart) place(i int, left float64) float64 {
	return left + panelWidth*(float64(i)+0.5)/float64(len(c.x))
}

// line draws one series.
func (c *chart) line(b *strings.Builder, p *panel, s int, left, bottom float64) {
	var path strings.Builder
	step := "M"
	for i, v := range p.values[s] {
		if math.IsNaN(v) {
			step = "M"
			continue
		}
		fmt.Fprintf(&path, "%s%.1f %.1f", step, c.place(i, left), bottom-p.scale.at(v)*panelHeight)
		step = "L"
	}
	fmt.Fprintf(b, `<path class="l" %s d="%s"/>`, stroke(s), path.String())
	for i, v := range p.values[s] {
		if !math.IsNaN(v) {
			mark(b, s, c.place(i, left), bottom-p.scale.at(v)*panelHeight)
		}
	}
	b.WriteString("\n")
}

func colour(s int) string { return colours[s%len(colours)] }

// stroke returns how the line of a series looks: with all colours used up, dashed.
func stroke(s int) string {
	if s >= len(colours) {
		return `stroke="` + colour(s) + `" stroke-dasharray="6 3"`
	}
	return `stroke="` + colour(s) + `"`
}

// mark draws the mark of a series at a place.
func mark(b *strings.Builder, s int, x, y float64) {
	shapes := []string{"M-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0-7 0z", "M-3-3h6v6h-6z", "M0-4.5L4 3h-8z", "M0-4.5L4.5 0L0 4.5L-4.5 0z", "M0 4.5L-4-3h8z"}
	fmt.Fprintf(b, `<path fill="%s" transform="translate(%.1f %.1f)" d="%s"/>`, colour(s), x, y, shapes[s%len(shapes)])
}

// at returns where a value is on the scale, 0 at its low and 1 at its high end.
func (s *scale) at(v float64) float64 {
	v = min(max(v, s.low), s.high)
	if s.log {
		return math.Log(v/s.low) / math.Log(s.high/s.low)
	}
	return (v - s.low) / (s.high - s.low)
}

// linear returns a scale with about five round ticks. It begins at low, or lower.
func linear(low, high float64, text func(float64) string) scale {
	if !(high > low) {
		high = low + 1
	}
	power := math.Pow(10, math.Floor(math.Log10((high-low)/4)))
	step := power
	for _, times := range []float64{2, 5, 10} {
		if (high-low)/step > 6 {
			step = power * times
		}
	}
	s := scale{low: math.Floor(low/step) * step, high: math.Ceil(high/step-1e-9) * step, text: text}
	for i := 0; s.low+float64(i)*step <= s.high+step/2; i++ {
		s.ticks = append(s.ticks, s.low+float64(i)*step)
	}
	return s
}

// logarithmic returns a scale whose ticks are 1, 2 and 5 times powers of ten, thinned out if those are many.
func logarithmic(low, high float64, text func(float64) string) scale {
	switch {
	case low > high: // nothing is to be shown
		low, high = 1, 2
	case !(low > 0):
		low = 1e-3
	}
	if !(high > low) {
		high = 2 * low
	}
	s := scale{low: low / 1.1, high: high * 1.1, log: true, text: text}
	times := []float64{1, 2, 5}
	if high/low > 3000 {
		times = times[:1]
	}
	for power := math.Pow(10, math.Floor(math.Log10(s.low))); power <= s.high; power *= 10 {
		for _, t := range times {
			if tick := power * t; tick >= s.low && tick <= s.high {
				s.ticks = append(s.ticks, tick)
			}
		}
	}
	return s
}
