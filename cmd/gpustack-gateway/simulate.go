package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/gpustack/gpustack-gateway/internal/simulate"
	"github.com/gpustack/gpustack-gateway/route"
)

type simulateCommand struct {
	Routes string `help:"The routes file; - reads standard input." type:"path" placeholder:"FILE"`
	Route  string `help:"The route whose policies are to vote." placeholder:"NAME"`
	Fleet  string `help:"Simulate a fleet instead: a scenario file, {} for the defaults; - reads standard input." type:"path" placeholder:"FILE"`
	SVG    string `name:"svg" help:"Draw the fleet's results as well, into this directory." type:"path" placeholder:"DIR"`
}

// Help is shown below the command's usage.
func (*simulateCommand) Help() string {
	return `A session's owner has some requests in flight and every other candidate is idle: does the session stay (hold), is it drawn (tie), or does it move (flip)? The answer comes from the code that serves, with the route's own weights. Decision services have no say in it.

With --fleet, engines, agents and gateways of a scenario are simulated, for planning: times to first token, prompt cache hits and imbalance by the size of the fleet, the way of balancing and the number of gateways. docs/scaling.md tells of the scenario file.`
}

// Run prints the table of a route, or the results of a fleet.
func (c *simulateCommand) Run(ctx context.Context, p *process) error {
	switch {
	case c.Fleet != "" && (c.Routes != "" || c.Route != ""):
		return usagef("--fleet simulates engines of its own: leave out --routes and --route")
	case c.Fleet != "":
		return simulateFleet(ctx, p, c.Fleet, c.SVG)
	case c.SVG != "":
		return usagef("--svg draws what --fleet simulates, which is missing")
	case c.Routes == "" && c.Route == "":
		return usagef("simulate needs --routes FILE and --route NAME, or --fleet FILE")
	case c.Routes == "":
		return usagef("--route is without --routes FILE")
	case c.Route == "":
		return usagef("--routes is without --route NAME")
	}
	name, data, err := readFile(c.Routes, p.stdin)
	if err != nil {
		return usagef("%v", err)
	}
	snapshot, problems := build(name, data, os.LookupEnv)
	if snapshot == nil {
		for _, problem := range problems {
			fmt.Fprintln(p.stderr, problem)
		}
		return fmt.Errorf("%s cannot be used", name)
	}
	r := snapshot.Route([]byte(c.Route))
	if r == nil {
		return usagef("--route: %s has no route %q", name, c.Route)
	}
	return printShifts(p.stdout, r)
}

// printShifts prints what the votes of a route make of a session, by the number of candidates.
func printShifts(w io.Writer, r *route.Route) error {
	t, err := simulate.Run(r, nil)
	if err != nil {
		return err
	}
	var weights []string
	for _, v := range t.Votes {
		weights = append(weights, v.Plugin+" "+strconv.FormatFloat(v.Weight, 'g', -1, 64))
	}
	fmt.Fprintf(w, "Route %q: %s; %s\n\n", t.Route, strings.Join(weights, ", "), counted(t.Candidates, "candidate"))
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprint(table, "CANDIDATES")
	for x := range simulate.MostInflight + 1 {
		fmt.Fprintf(table, "\t%d IN FLIGHT", x)
	}
	fmt.Fprintln(table, "\tMOVES AT")
	for _, row := range t.Rows {
		mark := ""
		if row.Candidates == t.Candidates {
			mark = " (this route)"
		}
		moves := "never"
		if row.FirstFlip != nil {
			moves = strconv.Itoa(*row.FirstFlip)
		}
		fmt.Fprintf(table, "%d%s\t%s\t%s\n", row.Candidates, mark, strings.Join(row.Shifts, "\t"), moves)
	}
	return table.Flush()
}

// percent is a part of a whole as people read it.
func percent(part float64) string {
	if math.IsNaN(part) {
		return "-"
	}
	return strconv.FormatFloat(100*part, 'f', 1, 64) + "%"
}
