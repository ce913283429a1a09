// Command bench measures the gateway beside nginx, HAProxy, a bare proxy on fasthttp and net/http's ReverseProxy, all in
// front of the same engine, in one run on loopback. docs/performance.md says what its figures mean.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

func main() {
	if role(os.Args[1:]) {
		return
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout, os.Stderr); err != nil {
		stop()
		fatal(err)
	}
}

// parts are what can be asked for with -only.
var parts = []string{"cpu", "streams", "memory", "latency", "hangup", "scale", "soak"}

// experiments are all that is measured, in their order.
func experiments() []experiment {
	return []experiment{
		{part: "cpu", tables: []string{tableCPU, tableRate}, run: requestCosts},
		{part: "cpu", tables: []string{tableAllocs}, run: allocations},
		{part: "streams", tables: []string{tableEvents}, run: eventCosts},
		{part: "latency", tables: []string{tableFirst50, tableFirst99}, run: latency},
		{part: "scale", tables: []string{tableRoutes, tableInstances, tableKeys}, run: scale},
		{part: "hangup", tables: []string{tableHangup, tableLeave}, run: hangups},
		{part: "memory", tables: []string{tableMemory}, run: memory},
		{part: "streams", tables: []string{tableCrowd}, run: crowd},
		{part: "soak", tables: []string{tableSoak}, run: soak, once: true},
	}
}

type options struct {
	gateway  string
	only     []string
	rounds   int
	quick    bool
	markdown bool
}

var errMissed = errors.New("a bar is missed")

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	o, err := parse(args, progress)
	if errors.Is(err, flag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	size := fullSizes()
	if o.quick {
		size = quickSizes()
	}
	if o.rounds > 0 {
		size.rounds = o.rounds
	}
	return measure(ctx, o, size, out, progress)
}

func parse(args []string, progress io.Writer) (options, error) {
	o := options{}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(progress)
	flags.StringVar(&o.gateway, "gateway", "bin/gpustack-gateway", "the gateway's binary, as make build leaves it")
	only := flags.String("only", "", "measure only these, with commas between: "+strings.Join(parts, ", "))
	flags.IntVar(&o.rounds, "rounds", 0, "rounds, of which the median counts (5; 1 with -quick)")
	flags.BoolVar(&o.quick, "quick", false, "one short round: to see that it works, not for figures")
	flags.BoolVar(&o.markdown, "markdown", false, "print the tables in Markdown")
	if err := flags.Parse(args); err != nil {
		return o, err
	}
	if *only != "" {
		o.only = strings.Split(*only, ",")
	}
	for _, part := range o.only {
		if !slices.Contains(parts, part) {
			return o, fmt.Errorf("-only: there is no %q, only %s", part, strings.Join(parts, ", "))
		}
	}
	if flags.NArg() > 0 {
		return o, fmt.Errorf("%q is too much", flags.Args())
	}
	return o, nil
}

// measure runs what was asked for, once more what missed its bar, and prints the figures.
func measure(ctx context.Context, o options, size sizes, out, progress io.Writer) (err error) {
	begun := time.Now()
	b, err := newBench(ctx, o.gateway, size, progress)
	if err != nil {
		return err
	}
	defer b.close()
	todo := slices.DeleteFunc(experiments(), func(e experiment) bool { return len(o.only) > 0 && !slices.Contains(o.only, e.part) })
	if err := b.runAll(todo); err != nil {
		return err
	}
	repeated := false
	if tables, count := missed(b.figures); count > 0 && !o.quick {
		fmt.Fprintf(progress, "%d bars are missed: what they are about is measured once more\n", count)
		repeated = true
		again := slices.DeleteFunc(todo, func(e experiment) bool {
			return !slices.ContainsFunc(e.tables, func(t string) bool { return tables[t] })
		})
		for _, e := range again {
			b.figures.forget(e.tables)
		}
		if err := b.runAll(again); err != nil {
			return err
		}
	}
	b.report(out, o, repeated, time.Since(begun))
	if _, count := missed(b.figures); count > 0 && !o.quick {
		return errMissed
	}
	return nil
}

// report prints all tables, and under which conditions they came about.
func (b *bench) report(w io.Writer, o options, repeated bool, took time.Duration) {
	b.figures.print(w, o.markdown)
	printBars(w, b.figures, o.markdown)
	pinned := "not pinned"
	if p := b.stage.pins; p[proxyCore] != "" {
		pinned = fmt.Sprintf("proxies on processor %s, engine and load on %s", p[proxyCore], p[otherCores])
	}
	fmt.Fprintf(w, "Medians of %d rounds of %v; %d processors, %s; %s; %s; %.0f min.", b.rounds, b.seconds, runtime.NumCPU(), pinned, processor(),
		runtime.Version(), took.Minutes())
	if repeated {
		fmt.Fprint(w, " What missed a bar was measured a second time, and the second counts.")
	}
	if o.quick {
		fmt.Fprint(w, " A quick run: its figures are no measure.")
	}
	fmt.Fprintln(w)
}

// processor is the name of the machine's processor.
func processor() string {
	text, err := os.ReadFile("/proc/cpuinfo")
	if err != nil {
		return "processor unknown"
	}
	_, rest, _ := strings.Cut(string(text), "model name")
	name, _, _ := strings.Cut(rest, "\n")
	return strings.Trim(name, "\t: ")
}
