package main

import (
	"cmp"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"text/tabwriter"

	"github.com/gpustack/gpustack-gateway/lb"
	"github.com/gpustack/gpustack-gateway/plugins/builtin"
	"github.com/gpustack/gpustack-gateway/route"
)

type checkCommand struct {
	File string `arg:"" help:"The routes file; - reads standard input." type:"path"`
}

// Help is shown below the command's usage.
func (*checkCommand) Help() string {
	return `Prints every problem as file:line:column: path: message, then each route with the way it balances. Environment variables that the file names have to be set; any value will do. Exits 0 if every route can serve, 1 if the file cannot be used or a route cannot serve, 2 if the file cannot be read.`
}

// Run checks the file exactly as serve would load it.
func (c *checkCommand) Run(p *process) error {
	name, data, err := readFile(c.File, p.stdin)
	if err != nil {
		return usagef("%v", err)
	}
	snapshot, problems := build(name, data, os.LookupEnv)
	for _, problem := range problems {
		fmt.Fprintln(p.stdout, problem)
	}
	if snapshot == nil {
		fmt.Fprintf(p.stdout, "%s cannot be used: %s\n", name, counted(len(problems), "problem"))
		return errReported
	}
	if len(problems) > 0 {
		fmt.Fprintln(p.stdout)
	}
	if unusable := printRoutes(p.stdout, snapshot.Routes()); unusable > 0 {
		fmt.Fprintf(p.stdout, "\n%s cannot serve\n", counted(unusable, "route"))
		return errReported
	}
	return nil
}

// build makes a snapshot of a file's text, apart from any gateway that runs.
func build(name string, data []byte, lookupEnv func(string) (string, bool)) (*route.Snapshot, []route.Problem) {
	return route.Load(name, data, route.Options{
		Kinds:     builtin.All(nil),
		Fleet:     lb.NewFleet(rand.Uint64),
		Rand:      rand.Uint64,
		LookupEnv: lookupEnv,
	})
}

// printRoutes prints a line for each route and returns how many cannot serve.
func printRoutes(w io.Writer, routes []*route.Route) (unusable int) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	defer func() { _ = table.Flush() }()
	fmt.Fprintln(table, "ROUTE\tROUTE BY\tCANDIDATES\tFALLBACKS\tACCESS")
	for _, r := range routes {
		if r.Reason != "" {
			unusable++
			// The reason is its own last cell, so that the columns of the others stay as they are.
			fmt.Fprintf(table, "%s\tunusable\t-\t-\t%s: %s\n", r.Name, r.Access, r.Reason)
			continue
		}
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", r.Name, r.By, len(r.Pool.Candidates()), len(r.Fallbacks), cmp.Or(r.Access.String(), "?"))
	}
	return unusable
}

// readFile reads a file, or standard input for "-", and returns the name to report problems under.
func readFile(path string, stdin io.Reader) (name string, data []byte, err error) {
	if path == "-" {
		data, err = io.ReadAll(stdin)
		return "stdin", data, err
	}
	data, err = os.ReadFile(path) //nolint:gosec // the operator says which file
	return path, data, err
}

// counted is "1 problem" or "3 problems".
func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
